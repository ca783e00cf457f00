"""State that the program itself gives an optimizer goes to the device of its parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 2
_OPTIMIZER_STATE = "DV110"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``optimizer.state[p] = {k: v.clone() ...}`` with each tensor on the device of ``p``."""
    if failure.finding["code"] != _OPTIMIZER_STATE:
        return
    for path in failure.own_paths:
        source = source_of(path)
        for node in ast.walk(source.tree) if source is not None else ():
            parameter = _parameter(node)
            if source is not None and isinstance(node, ast.Assign) and parameter is not None:
                yield from _moved(source, node.value, source.segment(parameter))


def _parameter(node: ast.AST) -> ast.expr | None:
    """``p`` of ``optimizer.state[p] = ...`` and of ``optimizer.state[p]["exp_avg"] = ...``."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    while isinstance(target, ast.Subscript):
        of_state = isinstance(target.value, ast.Attribute) and target.value.attr == "state"
        if of_state and isinstance(target.slice, (ast.Name, ast.Attribute)):
            return target.slice
        target = target.value
    return None


def _moved(source: Source, value: ast.expr, parameter: str) -> Iterator[Change]:
    tensors = [each for part in _values(value) for each in _tensors(part)]
    edits = tuple(source.replace(each, f"{source.segment(each)}.to({parameter}.device)") for each in tensors)
    if edits:
        text = message("move the state to the device of `{name}` where it is written", name=parameter)
        yield Change(text, "creation_site", edits, _OPTIMIZER_STATE, _DOUBT)


def _values(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Dict):
        return value.values
    return [value.value if isinstance(value, ast.DictComp) else value]


def _tensors(value: ast.expr) -> list[ast.expr]:
    """What may be a tensor; of a choice (``v.clone() if torch.is_tensor(v) else v``) what is chosen first."""
    if isinstance(value, ast.IfExp):
        return _tensors(value.body)
    return [value] if isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)) else []
