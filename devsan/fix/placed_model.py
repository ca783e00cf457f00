"""A model that a library placed over devices: its map, its modules, and the call of the user's that placed it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.fix.failure import Failure, is_own
from devsan.fix.loading import Loading
from devsan.fix.source import Source, source_of

_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential")


@dataclass(frozen=True)
class PlacedModel:
    """A model with a device map, or with hooks of accelerate.

    Attributes:
        facts: as docs/reference/run.schema.json has a model.
        loading: the call that placed it; None where no file of the user's has it.
    """

    facts: Mapping[str, Any]
    loading: Loading | None

    @functools.cached_property
    def device_map(self) -> dict[str, str]:
        """Returns the device of each entry, in the order of the map."""
        return {entry["key"]: entry["device"] for entry in self.facts["device_map"]}

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """Returns the class name of each module, parents before children."""
        return {module["path"]: module["type"] for module in self.facts["modules"]}

    @property
    def loadings(self) -> list[Loading]:
        """Returns the call that placed it and the others of its file that take a map, the last first.

        A dispatch that finds every weight in its place moves nothing, so that no placement shows it; its hooks stay.
        """
        if self.loading is None:
            return []
        source = self.loading.source
        calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
        others = [Loading(source, call, self.loading.expression) for call in calls if call is not self.loading.call]
        found = [self.loading, *(each for each in others if each.takes_map)]
        return sorted(found, key=lambda each: -each.call.lineno)

    @property
    def main_device(self) -> str:
        """Returns where the hook of the whole model brings the inputs; the device of the first entry without one."""
        for hook in self.facts["modules"][0]["hooks"]:
            if hook["execution_device"]:
                return str(hook["execution_device"])
        return next(iter(self.device_map.values()), "")

    def cut_blocks(self, paths: Sequence[str]) -> list[str]:
        """Returns the modules around ``paths`` that the map puts on several devices, one a class.

        Elements of lists come first, then the innermost. What holds a list of blocks is the model, or nearly."""
        found = {
            block
            for path in paths
            for block in _around(path)
            if self._is_block(block) and len(self._devices_under(block)) > 1
        }
        ordered = sorted(found, key=lambda block: (not _is_element(block), -block.count("."), block))
        return list({self.types[block]: block for block in reversed(ordered)}.values())[::-1]

    def with_whole(self, block: str) -> dict[str, str]:
        """Returns the map with every module of the class of ``block`` in one piece, where most of its bytes are."""
        wholes = [path for path, type in self.types.items() if type == self.types[block] and self._devices_under(path)]
        changed: dict[str, str] = {}
        for key, device in self.device_map.items():
            whole = next((path for path in wholes if key == path or key.startswith(f"{path}.")), None)
            if whole is None:
                changed[key] = device
            elif whole not in changed:
                changed[whole] = self._largest_device(whole)
        return changed

    def with_entries_on(self, keys: Sequence[str], device: str) -> dict[str, str]:
        """Returns the map with the entries ``keys`` on ``device``."""
        return {key: device if key in keys else before for key, before in self.device_map.items()}

    @property
    def heads(self) -> list[str]:
        """Returns the entries that stand directly under the model and hold no list of blocks: "lm_head", "score"."""
        return [key for key in self.device_map if key and "." not in key and not self._has_list(key)]

    @property
    def loose(self) -> list[str]:
        """Returns the entries outside of all lists of blocks: embeddings, norms, poolers, heads."""
        return [key for key in self.device_map if not any(map(_is_element, _around(key))) and not self._has_list(key)]

    def _is_block(self, path: str) -> bool:
        if self.types.get(path, "ModuleList") in _CONTAINERS:
            return False
        return _is_element(path) or not self._has_list(path)

    def _has_list(self, key: str) -> bool:
        return any(path.startswith(f"{key}.") and type in _CONTAINERS[:1] for path, type in self.types.items())

    def _devices_under(self, path: str) -> set[str]:
        return {device for key, device in self.device_map.items() if key.startswith(f"{path}.")}

    def _largest_device(self, path: str) -> str:
        held: dict[str, int] = {}
        for module in self.facts["modules"]:
            if module["path"] == path or module["path"].startswith(f"{path}."):
                for tensor in module["tensors"]:
                    held[tensor["device"]] = held.get(tensor["device"], 0) + tensor["bytes"]
        used = self._devices_under(path) or {self.device_map[path]}
        return max(sorted(used), key=lambda device: held.get(device, 0))


def placed_models(failure: Failure) -> Iterator[PlacedModel]:
    """Yields the models of a failure that have a device map or hooks, the largest first."""
    for facts in failure.models:
        hooked = any(hook["execution_device"] for module in facts["modules"] for hook in module["hooks"])
        if facts["device_map"] or hooked:
            yield PlacedModel(facts, _loading(facts, failure))


def _loading(facts: Mapping[str, Any], failure: Failure) -> Loading | None:
    """The last of the user's calls in which a library placed something of a model."""
    by_library = [event for event in reversed(facts["placements"]) if event["owner"]["name"] != "program"]
    # What a trainer or an engine moved afterwards is no loading, where a map placed the model before.
    for event in sorted(by_library, key=lambda event: "device_map" not in event["owner"]["setting"]):
        where = event["owner"]["where"]
        own = [frame for frame in ([where] if where else []) + event["frames"] if is_own(frame["path"])]
        for frame in own[:1]:
            source = source_of(frame["path"])
            call = _call_at(source, frame) if source is not None else None
            if source is not None and call is not None:
                return Loading(source, call, facts["expression"])
    return None


def _call_at(source: Source, frame: Mapping[str, Any]) -> ast.Call | None:
    node = source.expression_at(frame)
    if isinstance(node, ast.Call):
        return node
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and node.lineno == frame["line"]]
    return calls[0] if calls and not frame["column"] else None  # Python 3.10 knows no columns


def _around(path: str) -> list[str]:
    """The modules that a path leads through, itself among them, without the root."""
    parts = path.split(".")
    return [".".join(parts[: number + 1]) for number in range(len(parts)) if path]


def _is_element(path: str) -> bool:
    return path.rpartition(".")[2].isdigit()
