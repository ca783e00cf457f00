"""The places at which a program went on after mismatches, as one list for the job.

Either the policy ``warn`` had it go on, or the program caught torch's error, which nobody would see otherwise.

devsan: the program continued after mismatches at 2 places with 1 cause (policy=warn); on a real GPU it ends at the
first
  DV102 fresh-tensor
    train.py:6:13  operands of aten::add are on cuda:1 and cuda:0, 3 times in ranks 0-3
    train.py:9:9   operands of aten::mm are on cuda:1 and cuda:0 in rank 2
devsan: the program caught device errors at 1 place; --policy warn explains them
    train.py:6:13  operands of aten::add are on cuda:1 and cuda:0, 3 times
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devsan.diagnostics.messages import Message, message, plural
from devsan.run_files.ranks import ranks_text

_GPU = re.compile(r"\bcuda:\d+")


@dataclass
class Place:
    """A place where a program went on.

    Attributes:
        where: "train.py:6:13".
        title: "operands of aten::add are on cuda:1 and cuda:0".
        cause: what tells its cause from others; "" where the program caught the error, which nobody explained then.
        name: of the cause, "DV102 fresh-tensor"; "" where none is known.
        times: how often, by rank; a process that is no rank counts as one.
    """

    where: str
    title: str
    cause: str
    name: str
    times: dict[int, int] = field(default_factory=dict)


def joined(documents: Sequence[Mapping[str, Any]], kind: str = "places") -> list[Place]:
    """Returns the places of all ranks, each once: the same line, cause and operation, on whichever GPUs.

    Args:
        documents: of the ranks.
        kind: "places" where the policy had them go on, "caught" where the program caught the error.
    """
    found: dict[object, Place] = {}
    for document in documents:
        rank = int(document["process"]["rank"])
        for plain in document.get(kind) or ():
            key = (plain["where"], _GPU.sub("cuda", plain["cause"]), _GPU.sub("cuda", plain["title"]))
            place = found.setdefault(key, Place(plain["where"], plain["title"], key[1], plain["name"]))
            place.times[rank] = place.times.get(rank, 0) + int(plain["times"])
    return list(found.values())


def text_of(places: Sequence[Place], with_ranks: bool = False) -> Message:
    """Returns the list, by cause, in the order in which they showed."""
    by_cause: dict[str, list[Place]] = {}
    for place in places:
        by_cause.setdefault(place.cause, []).append(place)
    text = message(
        "the program continued after mismatches at {places} with {causes} (policy=warn); on a real GPU it ends at the "
        "first",
        places=plural("{n} place", "{n} places", len(places)), causes=plural("{n} cause", "{n} causes", len(by_cause)),
    )  # fmt: skip
    for cause, alike in by_cause.items():
        text = message("{text}\n  {line}", text=text, line=alike[0].name or cause)
        text = _listed(text, alike, with_ranks)
    return text


def caught_text_of(places: Sequence[Place], with_ranks: bool = False) -> Message:
    """Returns the list of places at which the program caught the error, in the order in which they showed."""
    text = message(
        "the program caught device errors at {places}; --policy warn explains them",
        places=plural("{n} place", "{n} places", len(places)),
    )
    return _listed(text, places, with_ranks)


def _listed(text: Message, places: Sequence[Place], with_ranks: bool) -> Message:
    width = max(len(place.where) for place in places)
    for place in places:
        told = _told(place, with_ranks)
        text = message("{text}\n    {where}  {line}", text=text, where=place.where.ljust(width), line=told)
    return text


def _told(place: Place, with_ranks: bool) -> Message:
    least, most = min(place.times.values()), max(place.times.values())
    if most == 1:
        times = Message("")
    elif least == most:
        times = message(", {count} times", count=most)
    else:
        times = message(", {least} to {most} times", least=least, most=most)
    if not with_ranks:
        return message("{title}{times}", title=place.title, times=times)
    return message("{title}{times} in {ranks}", title=place.title, times=times, ranks=ranks_text(sorted(place.times)))
