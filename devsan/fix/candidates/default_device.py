"""A default device lasts for the code that it was set for, and not for what comes after."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_AROUND = 9
_WITHOUT = 12


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``with torch.device(...)`` in the place of ``torch.set_default_device``, then the program without that."""
    if failure.finding["code"] != "DV111" or not failure.is_mixed:
        return
    for path in failure.own_paths:
        source = source_of(path)
        for node in ast.walk(source.tree) if source is not None else ():
            if source is not None and isinstance(node, ast.Expr) and _sets(node.value):
                yield from _around(source, node)
                text = message("leave out `{move}`", move=source.segment(node))
                yield Change(text, "creation_site", (source.remove(node),), "DV111", _WITHOUT)


def _sets(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and function_name(node) == "set_default_device" and len(node.args) == 1


def _around(source: Source, statement: ast.Expr) -> Iterator[Change]:
    """The only statement behind it in a function goes below ``with torch.device``: ``return factory()``."""
    assert isinstance(statement.value, ast.Call)
    block = source.block_of(statement)
    behind = block[block.index(statement) + 1 :]
    if len(behind) != 1 or not isinstance(source.function_around(statement), (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    header = f"with torch.device({source.segment(statement.value.args[0])})"
    edit = source.inside(behind[0], header)
    if edit is not None:
        text = message("set the default device for `{statement}` alone", statement=source.segment(behind[0]))
        yield Change(text, "creation_site", (source.remove(statement), edit), "DV111", _AROUND)
