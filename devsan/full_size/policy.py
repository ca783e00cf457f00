"""``--weights``: what a checkpoint has to have, so that a model is loaded at full size.

Under ``none`` and ``index`` a hollow checkpoint takes the place of weights that may well be there, under ``auto`` of
those that are not. What is in it, the model says under ``none``. Else the checkpoint says it, as far as it is there:
headers of safetensors, and an index for files that are not there, of which the model says the shapes. So names that a
model does not have, and those that a checkpoint lacks, are what they are in the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.full_size.hollow import Checkpoint, Described, read_header
from devsan.options import AUTO
from devsan.render.amounts import plain_amount
from devsan.render.notice import notice

policy = AUTO
"""What is in force: "auto", "none" or "index". Under "real" nothing takes the place of weights."""

Listed = Mapping[str, Described | None]
"""By name, what a checkpoint says of its tensors; None where it says the name alone."""


def choose(weights: str) -> None:
    """Has ``weights`` be in force from now on."""
    global policy
    policy = weights


@dataclass(frozen=True)
class Wanted:
    """Weights that a library is to load.

    Attributes:
        source: how the program calls them.
        files: where they may be, in the order in which the library looks: files of safetensors, or indexes.
        tensors: what the model has; where a checkpoint lists tensors, those, with what the model says of them. It is
            called only where that is needed.
    """

    source: Any
    files: Sequence[str]
    tensors: Callable[[Listed], Iterable[Described]]

    def in_place_of_missing(self) -> Checkpoint | None:
        """A checkpoint in place of weights that were looked for and are not there, and a line that tells of it.

        Returns:
            None where none can be made, or what should describe it is missing.
        """
        if policy != AUTO:
            return None
        return self._made(self._listed(), lambda size: message(
            "{source} has no weights; a checkpoint of {size} without numbers takes their place",
            source=self.source, size=size,
        ))  # fmt: skip

    def in_place_of_any(self) -> Checkpoint | None:
        """A checkpoint in place of weights for which nobody has looked, and a line that tells of it.

        Returns:
            None where they are to be looked for, or nothing describes them.
        """
        listed = self._listed() if policy == "index" else {}
        if policy == AUTO or (policy == "index" and not listed):
            return None
        return self._made(listed, lambda size: message(
            "weights of {source} are not read; a checkpoint of {size} without numbers takes their place",
            source=self.source, size=size,
        ))  # fmt: skip

    def _listed(self) -> Listed:
        file = next(filter(os.path.isfile, self.files), None)
        return {} if file is None else _listed_in(file)

    def _made(self, listed: Listed, told: Callable[[str], Message]) -> Checkpoint | None:
        try:
            described = [each for each in listed.values() if each]
            made = Checkpoint(described if listed and len(described) == len(listed) else self.tensors(listed))
        except Exception:
            return None
        notice(told(plain_amount(made.size)))
        return made


def under_names(
    listed: Listed, own: Iterable[Described], find: Callable[[str], Described | None] = lambda name: None
) -> Iterable[Described]:
    """Returns what a checkpoint lists, or all that a model has where nothing is listed, or something that nobody knows.

    Args:
        listed: by name, what the checkpoint says.
        own: what the model has.
        find: what the model has under another name than its own.
    """
    known = {each[0]: each for each in own}
    found = [each or known.get(name) or find(name) for name, each in listed.items()]
    return [each for each in found if each] if found and None not in found else known.values()


def is_whole(file: str) -> bool:
    """Returns whether a file, or all that an index names, is there."""
    folder = os.path.dirname(file)
    parts = {os.path.join(folder, part) for part in _places_in(file).values()}
    return all(map(os.path.isfile, (file, *parts)))


def _places_in(file: str) -> Mapping[str, str]:
    """By the name of a tensor, its file; of an index."""
    if not file.endswith(".json"):
        return {}
    try:
        places = json.loads(Path(file).read_text(encoding="utf-8"))
        return {str(name): str(part) for name, part in places.get("weight_map", places).items()}
    except Exception:  # the library says so where it reads it
        return {}


def _listed_in(file: str) -> Listed:
    try:
        listed: Listed = {each[0]: each for each in read_header(file)[0]} if not file.endswith(".json") else {}
    except Exception:  # no such file, or none of safetensors: the library says so where it reads it
        return {}
    places = _places_in(file)
    headers = [_listed_in(os.path.join(os.path.dirname(file), part)) for part in sorted(set(places.values()))]
    return {**listed, **dict.fromkeys(places), **{name: each for part in headers for name, each in part.items()}}
