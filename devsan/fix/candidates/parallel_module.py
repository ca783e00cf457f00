"""A module is on the first GPU of its DataParallel."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 12


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves of the module where it is wrapped."""
    if failure.finding["kind"] != "module":
        return
    for path in dict.fromkeys(frame["path"] for frame in failure.own_frames):
        source = source_of(path)
        if source is not None:
            yield from _wrapped(source)


def _wrapped(source: Source) -> Iterator[Change]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and function_name(node) == "DataParallel" and node.args:
            if moved(node.args[0]) is not None:  # another place for it is a candidate of its own
                continue
            given = node.args[1] if len(node.args) > 1 else keyword(node, "device_ids")
            module, first = node.args[0], _first(source, given)
            name = source.segment(module)
            text = message("move `{name}` to the first GPU of its DataParallel", name=name)
            yield Change(text, "creation_site", (source.replace(module, f"{name}.to({first})"),), doubt=_DOUBT)


def _first(source: Source, given: ast.expr | None) -> str:
    """The first of the GPUs that DataParallel is given; it takes all that there are where it is given none."""
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return '"cuda:0"'
    if isinstance(given, (ast.List, ast.Tuple)) and given.elts:
        return source.segment(given.elts[0])
    return f"{source.segment(given)}[0]"
