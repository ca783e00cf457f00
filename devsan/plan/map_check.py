"""Judges a device map that somebody else has made, by the model that it is for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devsan.blocks.measured import Measured, Names
from devsan.blocks.runs import runs_of
from devsan.diagnostics.messages import Message, message
from devsan.errors import UsageError
from devsan.plan.result import Tried

_HOSTS = ("cpu", "disk", "meta")


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a map.

    Attributes:
        kind: "dangling", "device", "uncovered", "cut", "tied".
        text: one sentence.
    """

    kind: str
    text: Message

    @property
    def refused(self) -> Message | None:
        """Returns why no program can have such a map; None where one can (accelerate warns of a dangling entry)."""
        if self.kind == "uncovered":
            return message("accelerate takes no map in which a tensor has no device")
        return message("there is no such GPU") if self.kind == "device" else None


@dataclass(frozen=True)
class MapCheck:
    """What a check came to.

    Attributes:
        model: the name of the model's class.
        problems: of the entries.
        rehearsed: the program with this map.
    """

    model: str
    problems: Sequence[Problem]
    rehearsed: Tried

    @property
    def is_partial(self) -> bool:
        """Returns that it is whole: a check that is interrupted comes to nothing."""
        return False

    @property
    def is_good(self) -> bool:
        """Returns whether nothing is wrong, and the program runs with it."""
        return not self.problems and self.rehearsed.fits


def read_map(path: str) -> dict[str, int | str]:
    """Returns the map in a JSON file: by module or tensor, the ordinal of a GPU, or a device.

    Raises:
        UsageError: it cannot be read, or is no such map.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError("a file with a device map", f"{path!r}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError("a device map in JSON", f"{path!r}: {error}") from error
    if not isinstance(found, dict) or not found:
        got = f"an empty one in {path!r}" if found == {} else f"another value in {path!r}"
        raise UsageError("a device map: a JSON object with an entry for each module", got)
    for key, device in found.items():
        if isinstance(device, bool) or not isinstance(device, (int, str)):
            raise UsageError("the number of a GPU, or a device", f"{device!r} for {key!r} in {path!r}")
    return found


def check_map(device_map: Mapping[str, int | str], measured: Measured, names: Names, gpus: int) -> list[Problem]:
    """Returns what is wrong with ``device_map``, the worst first.

    Args:
        device_map: to be judged.
        measured: the model's blocks.
        names: of its modules and tensors.
        gpus: how many GPUs there are.
    """
    return list(_Check({key: _device(value) for key, value in device_map.items()}, measured, names, gpus).problems())


class _Check:
    def __init__(self, devices: Mapping[str, str], measured: Measured, names: Names, gpus: int) -> None:
        self._devices = devices
        self._measured = measured
        self._names = names
        self._gpus = gpus
        self._tensors = [name for alike in names.tensors for name in alike]

    def problems(self) -> Iterator[Problem]:
        for key, device in self._devices.items():
            if not self._names.has(key):
                text = message("{key} is no module and no tensor of {model}", key=key, model=self._measured.model)
                yield Problem("dangling", text)
            elif device not in _HOSTS and device not in {f"cuda:{ordinal}" for ordinal in range(self._gpus)}:
                text = message("{key} is on {device}, and there are {count} GPUs", key=key, device=device,
                               count=self._gpus)  # fmt: skip
                yield Problem("device", text)
        for name in runs_of(self._uncovered()):
            text = message("{name} has no entry, and no module that contains it has one", name=name)
            yield Problem("uncovered", text)
        for block in self._measured.blocks:
            inside = [name for name in self._tensors if _is_within(name, block.path)]
            found = sorted(self._devices_of(inside))
            if len(found) > 1:
                text = message("{block}, a {type}, is cut: it is on {devices}", block=block.path, type=block.type,
                               devices=", ".join(found))  # fmt: skip
                yield Problem("cut", text)
        for alike in self._names.tensors:
            if len(self._devices_of(alike)) > 1:
                names = ", ".join(f"{name} ({self._device_of(name)})" for name in alike)
                yield Problem("tied", message("tied weights are on several devices: {names}", names=names))

    def _uncovered(self) -> Iterator[str]:
        """The largest modules of which no tensor has a device, and tensors that stand beside modules that have one."""
        covered = [name for name in self._tensors if self._device_of(name) is not None]
        left = [name for name in self._tensors if self._device_of(name) is None]
        without: list[str] = []
        for name in left:
            if any(_is_within(name, module) for module in without):
                continue
            around = (path for path in self._names.modules if _is_within(name, path))
            alone = (path for path in around if not any(_is_within(other, path) for other in covered))
            without.append(min(alone, key=len, default=name))
        yield from (path or self._measured.model for path in without)

    def _devices_of(self, names: Sequence[str]) -> set[str]:
        return {device for device in map(self._device_of, names) if device is not None}

    def _device_of(self, name: str) -> str | None:
        """The device of the longest entry around a tensor, as accelerate looks it up."""
        path = name
        while True:
            if path in self._devices:
                return self._devices[path]
            if not path:
                return None
            path = path.rpartition(".")[0]


def _is_within(name: str, path: str) -> bool:
    return not path or name == path or name.startswith(f"{path}.")


def _device(value: int | str) -> str:
    if isinstance(value, int) or value.isdecimal():
        return f"cuda:{value}"
    return "cuda:0" if value == "cuda" else value
