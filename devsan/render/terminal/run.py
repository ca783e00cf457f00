"""Runs for the terminal: the reports as they were printed at the failures, then what the run did, in a few lines.

train.py on 2 GPUs: RuntimeError after 6.6 s, exit code 1

memory  cuda:0  [####=.....]  peak 221 MiB (240 MiB reserved) of 502 MiB
        cuda:1  [###=......]  peak 196 MiB (200 MiB reserved) of 502 MiB
peak    cuda:0 at train.py:21
          120 MiB   54 %  activations and other results of operators
           80 MiB   36 %    layers.*.mlp
           61 MiB   28 %  parameters: head.weight
moved   cpu -> cuda:0     135 MiB  40 times  most at train.py:21
        cuda:0 -> cuda:1   48 MiB  12 times  most at train.py:47
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from devsan.diagnostics.codec import diagnostic_of
from devsan.options import OPTIONS
from devsan.render import amounts
from devsan.render.in_words import heading
from devsan.render.language import Language
from devsan.render.peaks import Part, parts_of, site_of
from devsan.render.terminal import printer as plain
from devsan.render.terminal.bar import bar
from devsan.render.terminal.printer import write_lines
from devsan.render.terminal.stream import unbroken_columns
from devsan.render.terminal.text import WIDTH, Line, display_width, padded, paragraph

Plain = Mapping[str, Any]

_COLUMNS = WIDTH - 12  # beside the heads of rows
_CELLS = 10  # of a bar
_LEAST_SHARE = 5  # per cent of a GPU's memory that a line is worth

_ENDS = {
    "finished": "finished after {time}",
    "exited": "finished after {time}",
    "killed": "killed by {signal} after {time}",
    "terminated": "ended by the launcher after {time}",
    "interrupted": "interrupted after {time}",
    "vanished": "exited without a traceback after {time}",
}  # of a run that no exception ended


def write_run(run: Plain, stream: TextIO, say: Language, with_findings: bool = True) -> None:
    """Writes one run to ``stream``; without findings where those of its job stand above."""
    for finding in run["findings"] if with_findings else ():
        _write_finding(finding, stream, say)
    write_lines(list(_summary(run, say, unbroken_columns(stream))), stream)


def _write_finding(finding: Plain, stream: TextIO, say: Language) -> None:
    if finding["printed"]:
        plain.write(diagnostic_of(finding), stream, say)
    else:
        write_lines(list(_short(finding, say, unbroken_columns(stream))), stream)
    others = list(_elsewhere(finding, say, unbroken_columns(stream)))
    if others:
        write_lines(others, stream)


def _short(finding: Plain, say: Language, width: int) -> Iterator[Line]:
    """What was noticed beside a cause."""
    head = f"{say(finding['severity'])}[{heading(finding)}]: "
    yield from paragraph(head, finding["severity"], say.text(finding["title"]), width, 6, "title")
    for site in finding["sites"][:1]:
        yield from paragraph("   --> ", "frame", f"{site['file']}:{site['line']}", width)


def _elsewhere(finding: Plain, say: Language, width: int) -> Iterator[Line]:
    if finding["count"] > 1:
        told = say("{count} times at this place", count=str(finding["count"]))
        yield from paragraph(say("again: "), "title", told, width)
    for other in finding["also_at"]:
        frame = other["frame"]
        op = f"  {other['op']}" if other["op"] else ""
        times = say(", {count} times", count=str(other["count"])) if other["count"] > 1 else ""
        yield from paragraph(say("also: "), "title", f"{frame['file']}:{frame['line']}{op}{times}", width)


def _summary(run: Plain, say: Language, width: int) -> Iterator[Line]:
    yield from paragraph("", "", _outcome(run, say), width, 2, "title")
    rows = [*_memory(run, say), *_at_peak(run, say), *_moved(run, say)]
    if rows:
        yield []
    heads = [say("memory"), say("peak"), say("moved"), f"{say('note')}:"]
    for head, text in rows:
        yield from paragraph(f"  {padded(head, heads)}  ", "frame", text, width)
    for note in run["notes"]:
        yield from paragraph(f"  {padded(heads[-1], heads)}  ", "frame", say.text(note), width)


def _outcome(run: Plain, say: Language) -> str:
    process, end = run["process"], run["end"]
    rank = ""
    if process["world_size"] > 1:
        rank = say("rank {rank} of {count}: ", rank=str(process["rank"]), count=str(process["world_size"]))
    count = len(run["gpus"])
    gpus = say("1 GPU") if count == 1 else say("{count} GPUs", count=str(count)) if count else say("no GPUs")
    start = rank + say("{program} on {gpus}: ", program=program_of(process["command"]), gpus=gpus)
    if end is None:
        times = [each["until"] for each in run["transfers"]] + [each["time"] for each in run["memory"]["samples"]]
        last = say(", last seen after {time}", time=_seconds(max(times))) if times else ""
        return start + say("no end recorded (killed, or still running)") + last
    error, time = end["exception"], _seconds(end["time"])
    code = say(", exit code {code}", code=str(end["exit_code"])) if end["exit_code"] else ""
    if error is None:
        return start + say(_ENDS[end["how"]], time=time, signal=end.get("signal", "")) + code
    return start + say("{error} after {time}", error=error["type"], time=time) + code


def program_of(command: Sequence[str]) -> str:
    """Returns the words of the program, without ``devsan run`` and its options, or python, in front of them."""
    words, names = list(command), set[str]()
    if words[:2] == ["devsan", "run"]:
        words = words[2:]
        names = {spelling for option in OPTIONS if not option.is_flag for spelling in option.spellings}
    elif words[:1] == ["python"]:
        words, names = words[1:], {"-W", "-X"}
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "--"):
        takes_next = words[0] in names
        words = words[2 if takes_next else 1 :]
    return " ".join(words)


def _memory(run: Plain, say: Language) -> Iterator[tuple[str, str]]:
    rows = [device for device in run["memory"]["devices"] if device["peak_reserved"]]
    for number, each in enumerate(rows):
        text = say(
            "peak {used} ({reserved} reserved) of {budget}", used=_amount(each["peak_allocated"]),
            reserved=_amount(each["peak_reserved"]), budget=_amount(each["budget"]),
        )  # fmt: skip
        shown = bar(each["peak_allocated"], each["peak_reserved"], each["budget"], _CELLS)
        yield say("memory") if number == 0 else "", f"{each['device']}  {shown}  {text}"


def _at_peak(run: Plain, say: Language) -> Iterator[tuple[str, str]]:
    """Who held the memory of the GPU that came nearest to its budget."""
    budgets = {device["device"]: max(1, device["budget"]) for device in run["memory"]["devices"]}
    peaks = [peak for peak in run["memory"].get("peaks", ()) if peak["device"] in budgets]
    if not peaks:
        return
    fullest = max(peaks, key=lambda peak: peak["allocated"] / budgets[peak["device"]])
    site = site_of(fullest)
    where = say("{device} at {place}", device=fullest["device"], place=f"{site['file']}:{site['line']}") if site else ""
    yield say("peak"), where or fullest["device"]
    parts = parts_of(fullest)
    widest = max((len(_amount(part.bytes)) for part in parts), default=0)
    room = _COLUMNS - len(f"  {'':>{widest}}  100 %  ")
    for part in parts:
        for held, share, text in _part(part, room, say):
            yield "", f"  {_amount(held):>{widest}}  {share:>3} %  {text}"


def _part(part: Part, room: int, say: Language) -> Iterator[tuple[int, int, str]]:
    """Bytes, share and name of one kind, and of the largest that are of it; one row where one holder is all of it."""
    kind = say.text(part.kind)
    whole = next((each.name for each in part.largest if each.bytes == part.bytes), "")
    named = say("{kind}: {largest}", kind=kind, largest=whole) if whole else kind
    yield part.bytes, part.share, named if display_width(named) <= room else kind
    for each in part.largest if not whole else ():
        if each.share >= _LEAST_SHARE and len(each.name) + 2 <= room:
            yield each.bytes, each.share, f"  {each.name}"


def _moved(run: Plain, say: Language) -> Iterator[tuple[str, str]]:
    ways: dict[tuple[str, str], list[Plain]] = {}
    for place in run["places"]:
        ways.setdefault((place["from"], place["to"]), []).append(place)
    rows = []
    for (source, target), places in sorted(ways.items()):
        size = sum(place["bytes"] for place in places)
        times = sum(place["times"] for place in places)
        most = max(places, key=lambda place: place["bytes"])
        site = most["event"]["site"]
        at = say("most at {place}", place=f"{site['file']}:{site['line']}") if site is not None else ""
        often = say("once") if times == 1 else say("{count} times", count=str(times))
        rows.append((f"{source} -> {target}", _amount(size), often, at))
    columns = [list(column) for column in zip(*rows, strict=True)]
    for number, (way, size, times, at) in enumerate(rows):
        width = max(map(len, columns[1]))
        text = f"{padded(way, columns[0])}  {size:>{width}}  {padded(times, columns[2])}  {at}".rstrip()
        yield say("moved") if number == 0 else "", text


def _amount(size: float) -> str:
    return amounts.amount(size).replace("\xa0", " ")  # a terminal breaks no lines by itself


def _seconds(duration: float) -> str:
    return amounts.seconds(duration).replace("\xa0", " ")
