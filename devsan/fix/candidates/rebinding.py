"""The result of a move that was thrown away is kept; what an object keeps follows its partner."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.candidates.use_site import is_read
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import assigned, operand_at
from devsan.fix.scope import devices
from devsan.fix.source import Source, source_of

_DISCARDED = 3
_FOLLOWS = 30
_OF_MODULES = frozenset({"parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval"})


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves whose results are kept now, then the lines that let a kept tensor follow."""
    for path in failure.own_paths:
        source = source_of(path)
        if source is not None:
            yield from _kept(source, failure)
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for frame in failure.own_frames[:1]:
            yield from _following(frame, operand, partner)


def _kept(source: Source, failure: Failure) -> Iterator[Change]:
    """The moves without a result, but those of modules. One to the host helps only where an operand is there."""
    met = {operand["device"] for operand in failure.operands}
    for node in ast.walk(source.tree):
        if (source.path, getattr(node, "lineno", 0)) in failure.module_moves:
            continue
        if isinstance(node, ast.Expr) and ("cpu" in met or function_name(node.value) != "cpu"):
            receiver = moved(node.value)
            if isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)) and not _is_module(source, receiver):
                name = source.segment(receiver)
                text = message("keep the result of the move: {code}", code=f"{name} = ...")
                after = f"{name} = {source.segment(node.value)}"
                yield Change(text, "creation_site", (source.replace(node, after),), doubt=_DISCARDED)
        if isinstance(node, (ast.Expr, ast.Assign)):
            yield from _stored(source, node)
        if isinstance(node, ast.For):
            yield from _elements(source, node)


def _is_module(source: Source, node: ast.expr) -> bool:
    """Whether the source uses ``node`` as a module, which moves in place: it is called, or asked for its parameters."""
    name = source.segment(node)
    if name == "self":  # an object that moves itself, whose name cannot be bound anew
        return True
    for each in ast.walk(source.tree):
        if isinstance(each, ast.Call) and source.segment(each.func) == name:
            return True
        if isinstance(each, ast.Attribute) and each.attr in _OF_MODULES and source.segment(each.value) == name:
            return True
    return False


def _stored(source: Source, statement: ast.Expr | ast.Assign) -> Iterator[Change]:
    """``value.to(device)`` of a loop over ``batch.items()``, which leaves the batch as it was, stores into it."""
    receiver = moved(statement.value)
    if isinstance(statement, ast.Assign) and source.segment(statement.targets[0]) != getattr(receiver, "id", ""):
        return
    around: ast.AST | None = statement
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(around, ast.For) and isinstance(receiver, ast.Name):
            values = _values(source, around, receiver.id)
            slot = f"{values}[key]" if values else _slot(source, around, receiver.id)
            if slot:
                text = message("keep the result of the move: {code}", code=f"{slot} = ...")
                bound = f"{receiver.id} = " if isinstance(statement, ast.Assign) else ""  # the loop goes on with it
                edits = [source.replace(statement, f"{bound}{slot} = {source.segment(statement.value)}")]
                if values:
                    edits.append(source.replace(around.target, f"key, {receiver.id}"))
                    edits.append(source.replace(around.iter, f"{values}.items()"))
                yield Change(text, "creation_site", tuple(edits), doubt=_DISCARDED - 1)
                return
        around = source.parents.get(around)


def _values(source: Source, loop: ast.For, name: str) -> str:
    """The dictionary whose values ``loop`` calls ``name``, and does more with than to move them; "" without one."""
    call, target = loop.iter, loop.target
    is_of_values = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "values"
    if not is_of_values or not isinstance(target, ast.Name) or target.id != name or _is_move_alone(loop):
        return ""
    uses_key = any(isinstance(each, ast.Name) and each.id == "key" for each in ast.walk(source.function_around(loop)))
    held = call.func.value  # type: ignore[attr-defined]
    return source.segment(held) if isinstance(held, (ast.Name, ast.Attribute)) and not uses_key else ""


def _is_move_alone(loop: ast.For) -> bool:
    """Whether a loop does nothing but move: all of it is one display then (``_elements``)."""
    return len(loop.body) == 1 and isinstance(loop.body[0], (ast.Expr, ast.Assign))


def _slot(source: Source, loop: ast.For, name: str) -> str:
    """Where the container of ``loop`` keeps the element that it calls ``name``: ``batch[key]``; "" if not said."""
    names = [each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)]
    if len(names) != 2 or names[1] != name or not isinstance(loop.iter, ast.Call):
        return ""
    held = loop.iter.args[0] if function_name(loop.iter) == "enumerate" and len(loop.iter.args) == 1 else None
    if function_name(loop.iter) == "items" and isinstance(loop.iter.func, ast.Attribute):
        held = loop.iter.func.value
    return f"{source.segment(held)}[{names[0]}]" if isinstance(held, (ast.Name, ast.Attribute, ast.Subscript)) else ""


def _elements(source: Source, loop: ast.For) -> Iterator[Change]:
    """A loop that moves the elements of a list or a dictionary, and keeps none of them."""
    statement = loop.body[0] if len(loop.body) == 1 else None
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    each = moved(call) or (_made_anew(statement) if isinstance(statement, ast.Assign) else None)
    if call is None or not isinstance(each, ast.Name):
        return
    if isinstance(statement, ast.Assign) and source.segment(statement.targets[0]) != each.id:
        return
    names = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
    held = source.segment(loop.iter)
    made = ""
    if names == [each.id] and held.endswith(".values()"):
        held = held.removesuffix(".values()")
        made = f"{held} = {{key: {source.segment(call)} for key, {each.id} in {held}.items()}}"
    elif len(names) == 2 and names[1] == each.id and held.endswith(".items()"):
        held = held.removesuffix(".items()")
        made = f"{held} = {{{names[0]}: {source.segment(call)} for {names[0]}, {each.id} in {held}.items()}}"
    elif names == [each.id] and isinstance(loop.iter, (ast.Name, ast.Attribute)):
        made = f"{held} = [{source.segment(call)} for {each.id} in {held}]"
    if made:
        text = message("keep the results of the moves in `{name}`", name=held)
        yield Change(text, "creation_site", (source.replace(loop, made),), doubt=_DISCARDED)


def _made_anew(statement: ast.Assign) -> ast.expr | None:
    """The variable that a statement gives what it moves of it: ``t = {k: v.to(device) for k, v in t.items()}``."""
    variable, made = statement.targets[0], statement.value
    if not isinstance(made, (ast.DictComp, ast.ListComp)):
        return None
    names = {each.id for part in made.generators for each in ast.walk(part.iter) if isinstance(each, ast.Name)}
    moves = any(moved(each) is not None for each in ast.walk(made))
    return variable if isinstance(variable, ast.Name) and variable.id in names and moves else None


def _following(frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]) -> Iterator[Change]:
    """The line ``kept = kept.to(partner.device)`` before what reads an attribute, or an element of one."""
    source = source_of(frame["path"])
    node = operand_at(source, frame, operand) if source is not None else None
    if source is None or node is None:
        return
    statement = source.statement_around(node)
    if isinstance(node, ast.Name):
        node, statement = assigned(source, node) or (node, statement)
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or not is_read(source, node):
        return
    held = source.segment(node)
    if any(isinstance(each, ast.Call) for each in ast.walk(node)):
        return
    for device, doubt in devices(source, statement, partner):
        if device == f"{held}.device":
            continue
        text = message("let `{name}` follow to {device} before it is used", name=held, device=device.strip('"'))
        line = f"{held} = {held}.to({device})"
        yield Change(text, "use_site", (source.insert_before(statement, [line]),), doubt=_FOLLOWS + doubt)
