"""accelerate's hooks stay on a model that is dispatched, where the program takes them away before it calls it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.source import source_of

_REMOVALS = ("remove_hook_from_module", "remove_hook_from_submodules")
_DOUBT = 4


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the program without each statement that takes hooks away, where the map is not followed any more."""
    if failure.finding.get("name") != "map-gap":
        return
    for path in filter(is_own, failure.own_paths):
        source = source_of(path)
        for node in ast.walk(source.tree) if source is not None else ():
            if source is None or not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
                continue
            if function_name(node.value) in _REMOVALS:
                text = message("keep the hooks: leave out `{call}`", call=source.segment(node.value))
                yield Change(text, "configuration", (source.remove(node),), "DV105", _DOUBT)
