"""A move that asks for the kind of what it moves is taught the kinds that it hands on as they are.

``return x`` behind ``if is_tensor(x): return x.to(device)``, ``else: out[k] = x``, ``x.to(device) if ... else x``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 6
_SEQUENCES = ("list", "tuple")
_EACH = "each"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a kind more for each function and each expression that moves tensors and leaves other kinds alone."""
    for path in failure.own_paths if failure.is_mixed else ():
        source = source_of(path)
        for node in ast.walk(source.tree) if source is not None else ():
            if source is not None and isinstance(node, ast.FunctionDef):
                yield from _taught(source, node)
            elif source is not None and isinstance(node, (ast.IfExp, ast.If)):
                yield from _handed_on(source, node)


def _taught(source: Source, function: ast.FunctionDef) -> Iterator[Change]:
    """A function that moves what it is given, by calling itself for what a container holds."""
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    if not any(moved(each) is not None for each in calls):
        return
    again = any(function_name(each) == function.name for each in calls)
    kinds = [call.args[1] for call in calls if function_name(call) == "isinstance" and len(call.args) > 1]
    known = {each.id for kind in kinds for each in ast.walk(kind) if isinstance(each, ast.Name)}
    missing = [name for name in _SEQUENCES if name not in known]
    if len(missing) == 1 and again:
        for kind in kinds:
            if isinstance(kind, ast.Name) and kind.id in _SEQUENCES:
                edit = source.replace(kind, f"({', '.join(_SEQUENCES)})")
                yield Change(_said(missing[0], function), "creation_site", (edit,), doubt=_DOUBT)
        return
    last = function.body[-1]
    own = [each.arg for each in function.args.args]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name) or last.value.id not in own:
        return
    name = last.value.id
    if any(isinstance(receiver, ast.Name) and receiver.id == name for receiver in map(moved, calls)):
        others = [_EACH if each == name else each for each in own if each != "self"]
        call = f"{'self.' if own[0] == 'self' else ''}{function.name}({', '.join(others)})"
        yield from _kinds(source, last.value, call, known, function)


def _handed_on(source: Source, branch: ast.IfExp | ast.If) -> Iterator[Change]:
    """``x.to(device) if torch.is_tensor(x) else x``, and the same with statements that keep ``x`` in one place."""
    found = _of_expression(branch) if isinstance(branch, ast.IfExp) else _of_statements(branch)
    if found is None:
        return
    left, test, move = found
    asked = [each.id for call in ast.walk(branch) if isinstance(call, ast.Call) and function_name(call) == "isinstance"
             for each in ast.walk(call) if isinstance(each, ast.Name)]  # fmt: skip
    if not any(isinstance(each, ast.Name) and each.id == left.id for each in ast.walk(test)):
        return
    one = " if ".join(_with_each(source, each, left.id) for each in (move, test))
    around = source.function_around(branch)
    function = around if isinstance(around, ast.FunctionDef) else None
    yield from _kinds(source, left, f"{one} else {_EACH}", set(asked), function)


def _of_expression(branch: ast.IfExp) -> tuple[ast.Name, ast.expr, ast.expr] | None:
    """What is handed on, the question and the move."""
    receiver = moved(branch.body)
    is_same = isinstance(branch.orelse, ast.Name) and isinstance(receiver, ast.Name) and receiver.id == branch.orelse.id
    return (branch.orelse, branch.test, branch.body) if is_same else None  # type: ignore[return-value]


def _of_statements(branch: ast.If) -> tuple[ast.Name, ast.expr, ast.expr] | None:
    first = branch.body[0]
    move = first.value if len(branch.body) == 1 and isinstance(first, ast.Assign) else None
    receiver = moved(move)
    last: ast.If = branch
    while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last = last.orelse[0]
    kept = last.orelse[0] if len(last.orelse) == 1 else None
    if move is None or not isinstance(receiver, ast.Name) or not isinstance(kept, ast.Assign):
        return None
    is_same = isinstance(kept.value, ast.Name) and kept.value.id == receiver.id
    return (kept.value, branch.test, move) if is_same else None  # type: ignore[return-value]


def _with_each(source: Source, node: ast.expr, name: str) -> str:
    """The text of ``node`` with another name in the place of ``name``."""
    copy = ast.parse(source.segment(node), mode="eval").body
    for each in ast.walk(copy):
        if isinstance(each, ast.Name) and each.id == name:
            each.id = _EACH
    return ast.unparse(copy)


def _kinds(
    source: Source, left: ast.Name, one: str, known: set[str], function: ast.FunctionDef | None
) -> Iterator[Change]:
    name = left.id
    if not known & set(_SEQUENCES):
        kinds = ", ".join(_SEQUENCES)
        after = f"type({name})({one} for {_EACH} in {name}) if isinstance({name}, ({kinds})) else {name}"
        yield Change(_said(message("list or tuple"), function), "creation_site", (source.replace(left, after),),
                     doubt=_DOUBT)  # fmt: skip
    if "dict" not in known:
        after = f"{{key: {one} for key, {_EACH} in {name}.items()}} if isinstance({name}, dict) else {name}"
        yield Change(_said("dict", function), "creation_site", (source.replace(left, after),), doubt=_DOUBT)


def _said(kind: str, function: ast.FunctionDef | None) -> str:
    if function is None:
        return message("move what is in a {kind}, too", kind=kind)
    return message("have `{function}` move what is in a {kind}, too", function=function.name, kind=kind)
