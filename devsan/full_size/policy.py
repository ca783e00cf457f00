"""``--weights``: what a checkpoint has to have, so that a model is loaded at full size.

Under ``none`` and ``index`` a hollow checkpoint takes the place of weights that may well be there. What is in it, the
model says under ``none``. Under ``index`` the checkpoint says it: headers of safetensors, and an index for files that
are not there, of which the model says the shapes, or all where it has other names. So names that a model does not have,
and those that a checkpoint lacks, are what they are in the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.full_size.hollow import Checkpoint, Described, read_header
from devsan.options import AUTO
from devsan.render.amounts import plain_amount
from devsan.render.notice import notice

_INDEX = ".index.json"

policy = AUTO
"""What is in force: "auto", "none" or "index". Under "real" nothing takes the place of weights."""

Tensors = Callable[[], Iterable[Described]]
"""What a model has; it is made only where it is needed."""


def choose(weights: str) -> None:
    """Has ``weights`` be in force from now on."""
    global policy
    policy = weights


def in_place_of_missing(source: Any, tensors: Tensors) -> Checkpoint | None:
    """A checkpoint in place of weights that were looked for and are not there, and a line that tells of it.

    Returns:
        None where none can be made, or what should describe it is missing.
    """
    if policy != AUTO:
        return None
    return _made(tensors, lambda size: message(
        "{source} has no weights; a checkpoint of {size} without numbers takes their place", source=source, size=size
    ))  # fmt: skip


def in_place_of_any(source: Any, folder: str, start: str, tensors: Tensors) -> Checkpoint | None:
    """A checkpoint in place of weights for which nobody has looked, and a line that tells of it.

    Args:
        source: how the program calls them.
        folder: where they would be, or a file of them, or an index.
        start: how the names of such files begin.
        tensors: what the model has.

    Returns:
        None where they are to be looked for, or nothing describes them.
    """
    if policy == AUTO:
        return None
    listed = {} if policy == "none" else _listed(folder, start)
    if policy != "none" and not listed:
        return None

    def described() -> Iterable[Described]:
        if listed and None not in listed.values():
            return [each for each in listed.values() if each]
        own = {each[0]: each for each in tensors()}
        found = [each or own.get(name) for name, each in listed.items()]
        return [each for each in found if each] if found and None not in found else own.values()

    return _made(described, lambda size: message(
        "weights of {source} are not read; a checkpoint of {size} without numbers takes their place",
        source=source, size=size,
    ))  # fmt: skip


def _made(tensors: Tensors, told: Callable[[str], Message]) -> Checkpoint | None:
    try:
        made = Checkpoint(tensors())
    except Exception:
        return None
    notice(told(plain_amount(made.size)))
    return made


def _listed(place: str, start: str) -> dict[str, Described | None]:
    """By name, what a folder, index or file of safetensors says of its tensors; None where it says the name alone."""
    if os.path.isdir(place):
        names = sorted(name for name in os.listdir(place) if name.startswith(start))
        chosen = [name for name in names if name.endswith(".safetensors" + _INDEX)] or [
            name for name in names if name.endswith((".safetensors", _INDEX))
        ]
        return {name: each for file in chosen for name, each in _listed(os.path.join(place, file), start).items()}
    if place.endswith(".json"):
        places = json.loads(Path(place).read_text(encoding="utf-8"))
        places = places.get("weight_map", places)
        files = sorted(set(places.values()))
        listed = [_listed(os.path.join(os.path.dirname(place), file), start) for file in files]
        return dict.fromkeys(places) | {name: each for part in listed for name, each in part.items()}
    try:
        return {each[0]: each for each in read_header(place)[0]}
    except Exception:  # no such file, or none of safetensors: the library says so where it reads it
        return {}
