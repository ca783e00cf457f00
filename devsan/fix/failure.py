"""A failure as candidates see it: the finding of a run file, with the models and what other places the run showed."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devsan.installed import is_library


@dataclass(frozen=True)
class Failure:
    """One finding of a run.

    Attributes:
        finding: as docs/reference/run.schema.json has it.
        models: of the program at that time, likewise, the largest first.
        others: the findings at other places, which the same run showed.
        texts: of the files that were changed for this run, by path.
    """

    finding: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]] = ()
    others: Sequence[Mapping[str, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def operands(self) -> Sequence[Mapping[str, Any]]:
        """Returns the operands of the failing operation."""
        return list(self.finding["operands"])

    @property
    def own_frames(self) -> list[Mapping[str, Any]]:
        """Returns the frames of the user's own files, the innermost first."""
        return [frame for frame in self.finding["stack"] if is_own(frame["path"])]

    @property
    def own_paths(self) -> list[str]:
        """Returns the user's own files on the way to the failure, then those that placed its operands and the models,
        each once."""
        placing = [frame for operand in self.operands for frame in placing_frames(operand)]
        events = [event for model in self.models for event in model["placements"]]
        moving = [frame for event in events for frame in event["frames"] if is_own(frame["path"])]
        return list(dict.fromkeys(frame["path"] for frame in (*self.own_frames, *placing, *moving)))

    @functools.cached_property
    def module_moves(self) -> set[tuple[str, int]]:
        """Returns the lines of the user's that moved a module, which it does in place, by path and number."""
        events = [event for each in (*self.models, *self.operands)
                  for event in each.get("placements", each.get("provenance"))]  # fmt: skip
        moves = [[frame for frame in event["frames"] if is_own(frame["path"])]
                 for event in events if event.get("op") == "Module.to"]  # fmt: skip
        return {(frames[0]["path"], frames[0]["line"]) for frames in moves if frames}

    @property
    def library_frames(self) -> list[Mapping[str, Any]]:
        """Returns the frames of libraries under the user's own, the innermost first; not torch's, not accelerate's."""
        found = []
        for frame in self.finding["stack"]:
            if is_own(frame["path"]):
                break
            if frame["package"] not in ("torch", "accelerate", "") and os.path.isfile(frame["path"]):
                found.append(frame)
        return found

    @property
    def in_library(self) -> bool:
        """Returns whether a library's code failed, and no file of the user's."""
        return bool(self.library_frames)

    @property
    def has_two_owners(self) -> bool:
        """Returns whether the cause is that two owners place one model: the line that fails is the victim."""
        return str(self.finding["code"]).startswith("DV2")

    @property
    def is_mixed(self) -> bool:
        """Returns whether tensors on several devices met, so that one of them may go to another."""
        return self.finding["kind"] in ("mixed", "index", "placement", "gradient")

    def moves_of_models(self) -> Iterator[Mapping[str, Any]]:
        """Yields the user's own frames among those that moved the models to a GPU."""
        for model in self.models:
            for event in model["placements"]:
                if event["kind"] == "moved" and event["device"].startswith("cuda"):
                    yield from (frame for frame in event["frames"] if is_own(frame["path"]))

    def is_written(self, operand: Mapping[str, Any]) -> bool:
        """Returns whether the operation writes into ``operand``: a copy of it on another device would be lost."""
        in_place = str(self.finding["op"]).partition(".")[0].endswith("_") and operand["role"] == "self"
        return bool(in_place or operand["role"] == "out")

    def is_live(self, frame: Mapping[str, Any]) -> bool:
        """Returns whether the call of ``frame`` has not returned: what it returns cannot be at fault."""
        return any(_span(frame) == _span(live) for live in self.finding["stack"])

    def pairs(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Yields what may be moved with where it may go: operands on different devices; the offending one first.

        Of the weights that a module has on one device, the largest stands for all: an LSTM has eight.
        """
        found = [
            (one, other)
            for one in self.operands
            for other in self.operands
            if one is not other and one["device"] != other["device"] and "meta" not in (one["device"], other["device"])
        ]
        found.sort(key=lambda pair: (not pair[0]["offending"], size_of(pair[0]), -size_of(pair[1])))
        first = {(id(one), _stands_for(other)): other for one, other in reversed(found)}
        return ((one, other) for one, other in found if first[id(one), _stands_for(other)] is other)


def is_weight(operand: Mapping[str, Any]) -> bool:
    """Returns whether ``operand`` is a parameter or a buffer of a module; what stands for a device alone is none."""
    return operand.get("kind") in ("parameter", "buffer")


def _stands_for(operand: Mapping[str, Any]) -> object:
    """What is asked where ``operand`` is: the module of a weight, as it came there; else the operand itself."""
    module = str(operand["name"] or "").rpartition(".")[0]
    came = next(iter(operand["provenance"]), None)
    frame = next(iter(came["frames"]), None) if came is not None else None
    place = (frame["path"], frame["line"]) if frame is not None else None
    return (module, operand["device"], place) if is_weight(operand) and module else id(operand)


def placing_frames(operand: Mapping[str, Any], kind: str = "") -> Iterator[Mapping[str, Any]]:
    """Yields the user's own frames among those that placed ``operand``; of events of that ``kind`` alone, if given."""
    for event in operand["provenance"]:
        if kind in ("", event["kind"]):
            yield from (frame for frame in event["frames"] if is_own(frame["path"]))


def _span(frame: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(frame[key] for key in ("path", "function", "line", "column", "end_line", "end_column"))


def size_of(operand: Mapping[str, Any]) -> int:
    """Returns how many elements ``operand`` has."""
    elements = 1
    for extent in operand["shape"] or ():  # a generator has none
        elements *= extent
    return elements


def is_own(path: str) -> bool:
    """Returns whether ``path`` is a file of the user's and no library's."""
    return path.endswith(".py") and os.path.isfile(path) and not is_library(path)
