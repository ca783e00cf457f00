"""The report on two accesses that nothing orders."""

from __future__ import annotations

import linecache

from devsan import core
from devsan.diagnosis.source import shown_path, whole_path
from devsan.diagnostics.codes import OF_STREAMS, all_codes
from devsan.diagnostics.diagnostic import Diagnostic, Label, Place
from devsan.diagnostics.messages import Message, message
from devsan.streams.access import Access, Frames, frame_of, lane_of
from devsan.streams.fixes import fixes_of


def report_of(kind: str, earlier: Access, later: Access, freed: Frames) -> Diagnostic | None:
    """Returns the report; None where neither access is a statement of the program.

    Args:
        kind: "unordered", "freed" or "pinned".
        earlier: the access that comes first in the program.
        later: the one that nothing makes wait for it.
        freed: where the memory was given back, if ``kind`` is "freed".
    """
    here, there = frame_of(later[-1]), frame_of(earlier[-1])
    if here is None and there is None:
        return None
    code = next(each for each in all_codes().values() if each.name == OF_STREAMS[kind])
    sides = {"earlier": lane_of(earlier), "later": lane_of(later)}
    note = message("the other side")
    sites = [_place(here, _did(later)), _place(there, _did(earlier), note)]
    if kind == "freed":
        sites = [_place(there, _did(earlier)), _place(here, _did(later), message("gets the same memory"))]
        given_back = _place(frame_of(freed), "", message("freed here"))
        sites.insert(1, given_back)
    return Diagnostic(
        title=_title(kind, earlier, later), code=code.code, severity="warning", confidence="certain", source="devsan",
        sites=tuple(site for site in sites if site is not None), evidence=_evidence(kind, earlier, later, sides),
        fixes=fixes_of(kind, earlier, later, freed),
    )  # fmt: skip


def _title(kind: str, earlier: Access, later: Access) -> Message:
    lane, other = lane_of(later), lane_of(earlier)
    if kind == "freed":
        return message("memory is freed while {lane} still uses it", lane=other)
    if kind == "pinned" and later[1]:
        return message("a pinned buffer is written before the copy on {lane} has read it", lane=other)
    if kind == "pinned":
        return message("a pinned buffer is read before the copy on {lane} has filled it", lane=other)
    if not later[1]:
        return message("{lane} reads a tensor that {other} may still write", lane=lane, other=other)
    if earlier[1]:
        return message("{lane} writes a tensor that {other} may still write", lane=lane, other=other)
    return message("{lane} writes a tensor that {other} may still read", lane=lane, other=other)


def _evidence(kind: str, earlier: Access, later: Access, sides: dict[str, Message]) -> tuple[Message, ...]:
    what = message(
        "{op} on {lane} comes first in the program, then {other_op} on {other}; nothing makes the second wait "
        "for the first.",
        op=earlier[0],
        lane=sides["earlier"],
        other_op=later[0],
        other=sides["later"],
    )
    if kind == "freed":
        return (
            message(
                "{op} used it on {lane}, the allocator knows the stream it was allocated on alone, and "
                "{other_op} on {other} may get the same memory.",
                op=earlier[0],
                lane=sides["earlier"],
                other_op=later[0],
                other=sides["later"],
            ),
            message("On a GPU, the first may then read or overwrite what the second has written."),
        )
    if kind == "pinned" and later[1]:
        return what, message("On a GPU, the copy may send what is written now.")
    return what, message("On a GPU, the result depends on which of the two is faster.")


def _did(access: Access) -> Message:
    lane = lane_of(access)
    return message("written on {lane}", lane=lane) if access[1] else message("read on {lane}", lane=lane)


def _place(frame: core.Frame | None, text: str, note: str = "") -> Place | None:
    if frame is None or not frame.file:
        return None
    number, file = int(frame.span.line), str(frame.file)
    source = linecache.getline(file, number).rstrip("\n")
    start = max(int(frame.span.column) - 1, 0)
    end = int(frame.span.end_column) - 1 if frame.span.end_line == number else len(source)
    labels = (Label(number, start, max(end, start + 1), (text,), True),) if text and source else ()
    return Place(shown_path(file), number, start + 1, lines={number: source} if source else {}, labels=labels,
                 note=note, path=whole_path(file))  # fmt: skip
