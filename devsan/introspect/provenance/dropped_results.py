"""Statements that move a tensor, or the parts of what holds it, and throw the results away.

A module's ``to`` is in place, and so is that of many classes: a statement counts where what it moves is on the way of a
tensor, or is a part of an object that surely has the tensor among its parts. ``Tensor.to`` returns a copy.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import MISSING, is_a
from devsan.introspect.provenance.amended import is_getattr
from devsan.introspect.provenance.named_device import value_of
from devsan.introspect.provenance.way import Step, function_called, is_own
from devsan.introspect.source.sources import bindings_in, nodes_in, statements_of
from devsan.introspect.source.statements import said_by

Dropped = tuple[ast.Expr | ast.Assign, Spot]
"""A statement that moves for nothing, and where it stands."""


def dropped_at(step: Step) -> Iterator[Dropped]:
    """Yields the statements about a step's expression that move it, or a part of it, for nothing."""
    if not isinstance(step.node, (ast.Name, ast.Attribute, ast.Subscript)):
        if isinstance(step.node, ast.Call) and step.part is not None:
            yield from _in_call(step.node, step.spot, None, step.part)
        return
    text, spot = ast.unparse(step.node), step.spot
    assigned = spot.last_given(text)
    since = assigned[0].lineno if assigned is not None else 0
    yield from _dropped_in(spot, text, step.part, since)
    if step.part is None and isinstance(step.node, ast.Attribute):  # as one of all that its object has
        yield from _dropped_in(spot, ast.unparse(step.node.value), step.node.attr, since)
    for node in _statements_of(spot.tree):
        if isinstance(node, ast.Expr) and since <= node.lineno < spot.line and isinstance(node.value, ast.Call):
            yield from _in_call(node.value, spot, text, step.part)


@functools.lru_cache(maxsize=64)
def _statements_of(tree: ast.AST) -> tuple[ast.Expr | ast.Assign, ...]:
    """Those that may move for nothing: each step of a way asks."""
    return tuple(node for node in statements_of(tree) if isinstance(node, (ast.Expr, ast.Assign)))


def is_move(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """Returns whether ``node`` is a call that moves a tensor: ``x.to(device)``, not ``x.to(torch.float16)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in MOVES and said_by(node).device is not None


def receiver_of_move(call: ast.Call) -> ast.expr:
    """Returns what a method is called on."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _in_call(call: ast.Call, spot: Spot, text: str | None, held: str | None) -> Iterator[Dropped]:
    """Yields those of the function that is called: about what it calls the object ``text``, or the one it returns."""
    if text is not None and all(ast.unparse(each) != text for each in (*_given_to(call),)):
        return
    own = function_called(call, spot.before(call))
    if own is None or not is_own(own):
        return
    names = [name for name, (node, _) in own.bound.items() if text is None or ast.unparse(node) == text]
    if isinstance(call.func, ast.Attribute) and (text is None or ast.unparse(call.func.value) == text):
        names.append("self")
    if text is None:
        returned = {each.id for each in own.returns() if isinstance(each, ast.Name)}
        names = [name for name in names if name in returned] + sorted(returned - set(names))
    for name in names:
        yield from _dropped_in(own, name, held, 0)


def _given_to(call: ast.Call) -> Iterator[ast.expr]:
    if isinstance(call.func, ast.Attribute):
        yield call.func.value
    yield from call.args
    yield from (word.value for word in call.keywords)


def _dropped_in(spot: Spot, text: str, held: str | None, since: int) -> Iterator[Dropped]:
    """Yields the statements of a function that move ``text``, or the part ``held`` of it, and throw the result away."""
    for node in _statements_of(spot.tree):
        if not since <= node.lineno < spot.line:
            continue
        if isinstance(node, ast.Assign) and (move_in(node) is None or not _rebinds_for_nothing(node, spot)):
            continue
        if isinstance(node, ast.Assign) and _moves_parts(node, replace(spot, line=node.lineno), text):
            yield node, replace(spot, line=node.lineno)
        if not is_move(node.value):
            continue
        receiver = receiver_of_move(node.value)
        value = value_of(receiver, spot) if spot.frame is not None else MISSING
        here = replace(spot, line=node.lineno)
        whole = ast.unparse(receiver) == text or _is_element(receiver, here, text)
        means = whole if held is None else _is_part(receiver, here, text, held)
        if means and (value is MISSING or is_tensor(value)) and _may_be_tensor(receiver, spot.tree):
            yield node, here


def move_in(statement: ast.stmt) -> ast.Call | None:
    """Returns the move that a statement is, or makes of each part of something; None for another statement."""
    node = getattr(statement, "value", None)
    if isinstance(node, (ast.DictComp, ast.ListComp)):
        node = node.value if isinstance(node, ast.DictComp) else node.elt
    if isinstance(node, ast.IfExp):  # v.to(device) if torch.is_tensor(v) else v
        node = node.body
    return node if is_move(node) else None


def _moves_parts(node: ast.Assign, spot: Spot, listed: str) -> bool:
    """Whether a loop over ``listed`` gives its variable what a comprehension moves:
    ``for t in targets: t = {k: v.to(device) for k, v in t.items()}``."""
    variable, made, call = node.targets[0], node.value, move_in(node)
    if not isinstance(made, (ast.DictComp, ast.ListComp)) or call is None or len(made.generators) != 1:
        return False
    (part,) = made.generators
    whole = ast.unparse(part.iter).removesuffix(".items()").removesuffix(".values()") == getattr(variable, "id", "")
    moved = ast.unparse(receiver_of_move(call)) in {ast.unparse(each) for each in ast.walk(part.target)}
    return whole and moved and not part.ifs and _is_element(variable, spot, listed)


def _rebinds_for_nothing(node: ast.Assign, spot: Spot) -> bool:
    """Whether it gives the variable of a loop a new value that nothing reads: ``for x in batch: x = x.to(device)``."""
    target = node.targets[0] if len(node.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return False
    before = replace(spot, line=node.lineno).last_given(target.id)
    named = (each for each in nodes_in(spot.tree, ast.Name) if each.id == target.id)
    reads = [each.lineno for each in named if isinstance(each.ctx, ast.Load)]
    return before is not None and before[1] and all(line <= (node.end_lineno or 0) for line in reads)


def _is_element(node: ast.expr, spot: Spot, listed: str) -> bool:
    """Whether ``node`` is in its turn each element of ``listed``, which torch has taken as a whole: an LSTM's state."""
    assigned = spot.last_given(node.id) if isinstance(node, ast.Name) else None
    return assigned is not None and assigned[1] and ast.unparse(assigned[0]) == listed


def _is_part(node: ast.expr, spot: Spot, holder: str, held: str) -> bool:
    """Whether ``node`` is the part ``held`` of ``holder``, or in its turn each of its parts."""
    if isinstance(node, ast.Attribute):
        return ast.unparse(node.value) == holder and node.attr == held
    if isinstance(node, ast.Subscript):
        key = node.slice
        if ast.unparse(node.value) != holder:
            return False
        return key.value == held if isinstance(key, ast.Constant) else _covers(key, spot, holder, held)
    if is_getattr(node):
        of, key = node.args[:2]  # type: ignore[attr-defined]
        return ast.unparse(of) == holder and _covers(key, spot, holder, held)
    assigned = spot.last_given(node.id) if isinstance(node, ast.Name) else None
    if assigned is None:
        return False
    value, is_element = assigned
    if is_element:
        return _runs_over(value, spot, holder, held, of_names=False)
    return not isinstance(value, ast.Name) and _is_part(value, spot.before(value), holder, held)


def _covers(key: ast.expr, spot: Spot, holder: str, held: str) -> bool:
    """Whether a key, that of a loop or ``field.name``, is in its turn that of the part ``held``."""
    inner = key.value if isinstance(key, ast.Attribute) and key.attr == "name" else key
    if isinstance(inner, ast.Constant):
        return bool(inner.value == held)
    if not isinstance(inner, ast.Name):
        return False
    for line, target, value, _ in bindings_in(spot.tree):
        if target == inner.id and line <= spot.line and _runs_over(value, spot, holder, held, of_names=True):
            return True
    return False


def _runs_over(node: ast.expr, spot: Spot, holder: str, held: str, of_names: bool) -> bool:
    """Whether a loop over ``node`` comes to the part ``held`` of ``holder``: over all of it, or over its name."""
    text = ast.unparse(node)
    everything = {holder, f"vars({holder})", f"{holder}.__dict__", f"fields({holder})", f"dataclasses.fields({holder})"}
    if text.removesuffix(".keys()").removesuffix(".items()").removesuffix(".values()") in everything:
        return True
    if not of_names:
        return isinstance(node, (ast.List, ast.Tuple)) and any(
            isinstance(each, ast.expr) and _is_part(each, spot, holder, held) for each in node.elts
        )
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return any(getattr(each, "value", None) == held for each in node.elts)
    listed = value_of(node, spot)
    return is_a(listed, list, tuple, set, frozenset, dict) and held in listed  # type: ignore[operator]


def _may_be_tensor(receiver: ast.expr, tree: ast.AST) -> bool:
    """Whether the function does not say that it is something else: ``if isinstance(part, nn.Module): part.to(d)``."""
    text = ast.unparse(receiver)
    kinds = [
        ast.unparse(node.args[1])
        for node in nodes_in(tree, ast.Call)
        if getattr(node.func, "id", "") == "isinstance" and len(node.args) == 2 and ast.unparse(node.args[0]) == text
    ]
    return not kinds or any("ensor" in kind for kind in kinds)
