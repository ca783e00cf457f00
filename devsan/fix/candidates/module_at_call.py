"""A module that no model registers, so that no move reaches it, comes to what it is given where it is called.

A second move of a module does nothing, and its parameters stay the ones that an optimizer holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_weight
from devsan.fix.source import Source, source_of

_DOUBT = 8
_LIBRARY = 3  # a part of the module alone
_UNREGISTERED = "DV108"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the calls of modules on the way to the failure, the innermost of the user's first."""
    weights = [each for each in failure.operands if is_weight(each)]
    if not failure.is_mixed or failure.finding["code"] != _UNREGISTERED or not weights:
        return
    for number, frame in enumerate(failure.own_frames):
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        given = _tensor(call) if isinstance(call, ast.Call) else None
        if source is None or given is None or not isinstance(call, ast.Call):
            continue
        doubt = (
            _DOUBT + number if number and _is_forward(failure.own_frames[number - 1]) else _DOUBT + _LIBRARY + number
        )
        if isinstance(call.func, ast.Attribute) and _may_be_module(call.func.value, source):  # its method is called
            yield _moved(source, call, call.func.value, given, doubt)
            doubt += 1
        yield _moved(source, call, call.func, given, doubt)


def _is_forward(frame: Mapping[str, Any]) -> bool:
    return str(frame["function"]).rpartition(".")[2] == "forward"


def _tensor(call: ast.Call) -> ast.expr | None:
    """The first argument that has a name; None where what is called has none."""
    if not isinstance(call.func, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    return next((each for each in call.args if isinstance(each, (ast.Name, ast.Attribute))), None)


def _may_be_module(node: ast.expr, source: Source) -> bool:
    """Whether it may stand for a module that somebody keeps: not the object itself, not what is imported."""
    if not isinstance(node, ast.Name):
        return isinstance(node, (ast.Attribute, ast.Subscript))
    imports = (each for each in ast.walk(source.tree) if isinstance(each, (ast.Import, ast.ImportFrom)))
    return node.id != "self" and all((name.asname or name.name) != node.id for each in imports for name in each.names)


def _moved(source: Source, call: ast.Call, called: ast.expr, given: ast.expr, doubt: int) -> Change:
    module, device = source.segment(called), f"{source.segment(given)}.device"
    text = message("move `{module}` to {device} where it is called", module=module, device=device)
    return Change(text, "use_site", (source.replace(called, f"{module}.to({device})"),), doubt=doubt)
