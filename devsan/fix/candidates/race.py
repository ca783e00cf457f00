"""What orders a race between streams where the line of the report has no place, or a late one.

NOTE [Prefetchers] A prefetcher copies the next batch on a stream of its own while the program computes with this one.
Where the batch is used, the copy of the next one has begun on that stream: a line there that waits for the stream waits
for both, and nothing is prefetched any more. So the wait stands before the call that begins the next copy, in the
method that hands the batch out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.diagnostics.codec import diagnostic_of
from devsan.diagnostics.codes import OF_STREAMS
from devsan.diagnostics.messages import Message, message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.scope import names_stored, positional
from devsan.fix.source import Source, source_of

_BEFORE_THE_NEXT, _DOUBT = 7, 8
_WAIT = ".wait_stream("
_RECORD = "{name}.record_stream(torch.cuda.current_stream())"
_FEW = 3  # names of one loop


def propose(failure: Failure) -> Iterator[Change]:
    """Yields waits before the next copy and before a line of several statements, and records where a loop begins."""
    finding = failure.finding
    name = finding.get("name", "")
    if name not in OF_STREAMS.values() or not finding["sites"]:
        return
    if name == OF_STREAMS["freed"]:
        yield from _recorded(finding)
        return
    for fix in diagnostic_of(finding).fixes:
        if not isinstance(fix.text, Message):
            continue
        line = str(fix.text.arguments.get("line", ""))
        if _WAIT in line and len(finding["sites"]) > 1:
            yield from _before_the_next(finding["sites"][1], line.partition(_WAIT)[0])
        if line and not fix.edits:
            yield from _before_all(finding, fix.text, line)


def _before_the_next(copied: Mapping[str, Any], waits: str) -> Iterator[Change]:
    """The wait in each method that calls the one which fills the other stream."""
    source = source_of(copied["path"]) if is_own(copied["path"]) else None
    for block in _blocks_of_streams(source, copied["line"]) if source is not None else ():
        assert source is not None
        filling, kind = source.function_around(block), source.class_around(block)
        stream = block.items[0].context_expr.args[0]  # type: ignore[attr-defined]
        own = [*positional(filling), ""][0]
        if kind is None or not own or not source.segment(stream).startswith(f"{own}."):
            continue
        for method in kind.body:
            call = _call(method, getattr(filling, "name", ""))
            if not isinstance(method, ast.FunctionDef) or call is None or method.name == "__init__":
                continue
            place = _statement(method.body, call)
            line = f"{waits}{_WAIT}{positional(method)[0]}{source.segment(stream)[len(own) :]})"
            text = message("make the stream wait before `{call}` begins the next copy: {line}",
                           call=source.segment(call), line=line)  # fmt: skip
            yield Change(text, "use_site", (source.insert_before(place, [line]),), "DV602", _BEFORE_THE_NEXT)


def _blocks_of_streams(source: Source, line: int) -> Iterator[ast.With]:
    """``with torch.cuda.stream(stream)`` around ``line``."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.With) and node.lineno <= line <= (node.end_lineno or node.lineno):
            entered = node.items[0].context_expr
            is_stream = isinstance(entered, ast.Call) and source.segment(entered.func).endswith("cuda.stream")
            if isinstance(entered, ast.Call) and is_stream and entered.args:
                yield node


def _call(method: ast.stmt, name: str) -> ast.Call | None:
    """The first call of the method ``name`` of the same object in ``method``."""
    own = [*positional(method), ""][0] if isinstance(method, ast.FunctionDef) else ""
    calls = (node for node in ast.walk(method) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return next((call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == name
                 and isinstance(call.func.value, ast.Name) and call.func.value.id == own), None)  # fmt: skip


def _statement(body: Sequence[ast.stmt], call: ast.Call) -> ast.stmt:
    """The statement that makes a call: of a loop that of its body, because each turn begins a copy."""
    place = next(each for each in body if call in ast.walk(each))
    if isinstance(place, ast.For | ast.While) and any(call in ast.walk(each) for each in place.body):
        return _statement(place.body, call)
    return place


def _before_all(finding: Mapping[str, Any], text: Message, line: str) -> Iterator[Change]:
    """The line before the first of several statements that stand on the line of the use."""
    used = finding["sites"][0]
    source = source_of(used["path"]) if is_own(used["path"]) else None
    for node in ast.walk(source.tree) if source is not None else ():
        if source is None or not isinstance(node, ast.stmt) or node.lineno != used["line"]:
            continue
        if not source.lines[node.lineno - 1].encode()[: node.col_offset].strip():
            yield Change(text, "use_site", (source.insert_before(node, [line]),), finding["code"], _DOUBT)


def _recorded(finding: Mapping[str, Any]) -> Iterator[Change]:
    """What a loop binds anew is recorded for the stream of its body; its memory is given back by the next turn."""
    for site in finding["sites"]:
        source = source_of(site["path"]) if is_own(site["path"]) else None
        for node in ast.walk(source.tree) if source is not None else ():
            if source is None or not isinstance(node, (ast.For, ast.While)) or node.lineno != site["line"]:
                continue
            names = _bound(node)
            for chosen in [names, *([name] for name in names if len(names) > 1)][: 1 + _FEW]:
                lines = [_RECORD.format(name=name) for name in chosen]
                text = message(
                    "tell the allocator of the stream where the loop begins: {lines}", lines="; ".join(lines)
                )
                if lines and node.body[0].lineno > node.lineno:
                    yield Change(text, "use_site", (source.insert_before(node.body[0], lines),), "DV603", _DOUBT)


def _bound(loop: ast.For | ast.While) -> list[str]:
    """The names that the head of a loop binds."""
    head = loop.target if isinstance(loop, ast.For) else loop.test
    return sorted(names_stored(head))
