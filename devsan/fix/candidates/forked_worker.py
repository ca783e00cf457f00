"""A worker of a data loader leaves the GPU to the process that reads from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, moved, with_keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 12
_LAST = 25  # the loader is slower then


def propose(failure: Failure) -> Iterator[Change]:
    """Yields workers without their moves, then loaders without workers, and with workers that start afresh."""
    if failure.finding["kind"] != "fork":
        return
    for path in dict.fromkeys(frame["path"] for frame in failure.own_frames):
        source = source_of(path)
        yield from _without_moves(source, failure) if source is not None else ()
        for node in ast.walk(source.tree) if source is not None else ():
            if source is None or not isinstance(node, ast.Call) or keyword(node, "num_workers") is None:
                continue
            text = message("load in the process that computes: num_workers=0")
            edit = source.replace(node, with_keyword(source, node, "num_workers", "0"))
            yield Change(text, "configuration", (edit,), doubt=_DOUBT + _LAST)
            if function_name(node) == "DataLoader":
                text = message("start the workers afresh: {code}", code='multiprocessing_context="spawn"')
                edit = source.replace(node, with_keyword(source, node, "multiprocessing_context", '"spawn"'))
                yield Change(text, "configuration", (edit,), doubt=_DOUBT + _LAST + 1)


def _without_moves(source: Source, failure: Failure) -> Iterator[Change]:
    """The function of the worker that failed, without what takes tensors to a GPU; the next round moves the batch."""
    frame = failure.own_frames[0]
    around = [
        node for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= frame["line"] <= (node.end_lineno or 0)
    ]  # fmt: skip
    if frame["path"] != source.path or not around:
        return
    calls = [node for node in ast.walk(around[-1]) if moved(node) is not None]
    inside = {inner for each in calls for inner in ast.walk(each) if inner is not each}
    edits = [source.replace(call, source.segment(moved(call) or call)) for call in calls if call not in inside]
    if edits:
        text = message("leave what `{function}` returns on the CPU", function=around[-1].name)
        yield Change(text, "creation_site", tuple(edits), doubt=_DOUBT)
