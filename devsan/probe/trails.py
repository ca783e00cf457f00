"""How a tensor came to be where it is: the core's placement records, read as events.

Records hold code objects and offsets; here they become files, lines, owners and the words that said the device. Without
recording (on real GPUs, or switched off) a tensor has no trail, and `devsan.probe.creation` looks in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devsan.owners import PROGRAM, Recognised, owner_of
from devsan.probe.places import place_at, without_machinery
from devsan.probe.statements import Said, read

DEFAULT_DEVICE = "torch.set_default_device"
_KEEP = frozenset({"clone", "contiguous", "reshape", "flatten", "repeat", "float", "half", "double", "bfloat16", "long",
                   "int", "bool", "type", "expand_as", "masked_fill", "tile"})  # fmt: skip
_DEEPEST = 64  # moves back and forth that are followed


class Trails:
    """Reads trails, each placement once.

    Args:
        core: ``devsan._core``.
    """

    def __init__(self, core: Any) -> None:
        self.core = core
        self._events: dict[int, Any] = {}

    def origin_of(self, tensor: Any) -> tuple[int, str]:
        """Returns the number of the placement that decided where ``tensor`` is, 0 if unknown, and what computed it."""
        try:
            placement, computed_by = self.core.origin_of(tensor)
            return int(placement), str(computed_by)
        except Exception:  # a core that records nothing; a tensor without storage
            return 0, ""

    def of(self, tensor: Any) -> list[Any]:
        """Returns the trail of ``tensor``: the core's Events, newest first; empty when nothing is known."""
        placement, computed_by = self.origin_of(tensor)
        events = self.from_placement(placement)
        if events and computed_by:
            core = self.core
            computed = core.Event(
                kind=core.EventKind.COMPUTED, device=events[0].device, op=computed_by, sequence=events[0].sequence
            )
            return [computed, *events]
        return events

    def from_placement(self, placement: int) -> list[Any]:
        """Returns the event of a placement and those of what was copied for it, newest first."""
        found: list[Any] = []
        seen: set[int] = set()
        while placement and placement not in seen and len(found) < _DEEPEST:
            seen.add(placement)
            record = self.core.placement(placement)
            if record is None:
                break
            if placement not in self._events:
                self._events[placement] = self._event(placement, record)
            found.append(self._events[placement])
            placement = int(record.source)
        return found

    def _event(self, number: int, record: Any) -> Any:
        core = self.core
        stack = without_machinery([place_at(core, code, offset) for code, offset in record.frames])
        event = event_at(core, stack, str(record.device), str(record.op), is_move=bool(record.is_move))
        event.bytes = int(record.bytes)
        event.sequence = 2 * number  # odd numbers are for what is known to lie between two placements
        if record.is_move:
            event.from_device = str(record.from_device)
        return event


def event_at(core: Any, stack: Sequence[Any], device: str, op: str, is_move: bool) -> Any:
    """Returns the event of a placement by ``stack`` (the core's frames, innermost first)."""
    recognised = owner_of(stack)
    caller = next((frame for frame in stack if frame.package not in ("torch", "python", "numpy")), None)
    said = read(caller) if caller is not None else Said()
    if recognised.name == DEFAULT_DEVICE and said.device is not None:  # the mode looked on
        recognised = Recognised(caller.package or PROGRAM if caller is not None else PROGRAM)
    if not is_move and not recognised.mechanism and said.receiver and said.call in _KEEP:
        # an operator's own allocation: its result is where its operand was
        return core.Event(kind=core.EventKind.COMPUTED, device=device, op=f"aten::{said.call}", stack=list(stack[:48]),
                          followed=said.receiver)  # fmt: skip
    kind = core.EventKind.LOADED if recognised.loads else core.EventKind.MOVED if is_move else core.EventKind.MADE
    mechanism = recognised.mechanism or said.call or op
    event = core.Event(
        kind=kind, device=device, op=_op(op, said, recognised, is_move), stack=list(stack[:48]),
        owner=core.Owner(name=recognised.name, mechanism=mechanism, setting=recognised.setting),
    )  # fmt: skip
    if recognised.setting == "device_map":
        event.source = core.DeviceSource.MAP
    elif recognised.name == DEFAULT_DEVICE:
        event.source = core.DeviceSource.DEFAULT
    elif said.peer:
        event.source, event.device_text = core.DeviceSource.PEER, said.device or ""
    elif said.device is not None:
        event.device_text = said.device
    elif said.is_factory:
        event.source = core.DeviceSource.DEFAULT
    event.discarded = said.discarded and is_move and said.receiver != "" and recognised.mechanism == ""
    return event


def _op(op: str, said: Said, recognised: Recognised, is_move: bool) -> str:
    if recognised.mechanism:
        return recognised.mechanism
    if said.is_factory:
        return f"aten::{said.call}"
    if is_move and said.receiver:
        return f"Tensor.{said.call}"
    return op


def settle(core: Any, events: Sequence[Any], path: str, model: Any, where: Any = None) -> list[Any]:
    """Returns ``events`` with the entry of the device map that decided in place of the word "device_map".

    Args:
        core: ``devsan._core``.
        events: a trail.
        path: of the tensor in ``model``; "" when it is none of its own: then the first entry for the device is meant.
        model: the core's Model, or None.
        where: the line that asked for the map, the core's Frame.
    """
    entries = list(model.device_map) if model is not None else []
    settled = []
    for event in events:
        if event.owner.setting == "device_map":
            key = _entry(entries, path, str(event.device))
            owner = event.owner
            text = getattr(model, "device_map_text", "")
            new = core.Owner(
                name=owner.name, mechanism=owner.mechanism,
                setting=f'device_map["{key[0]}"] = {key[1]}' if key is not None else text or "device_map",
            )  # fmt: skip
            if where is not None:
                new.where = where
            event = copy_of(core, event)
            event.owner = new
        settled.append(event)
    return settled


def copy_of(core: Any, event: Any) -> Any:
    """Returns another Event with the same contents."""
    fields = ("kind", "device", "from_device", "op", "bytes", "owner", "stack", "source", "device_text", "followed",
              "subject", "sequence", "step", "discarded")  # fmt: skip
    return core.Event(**{field: getattr(event, field) for field in fields})


def _entry(entries: Sequence[Any], path: str, device: str) -> tuple[str, str] | None:
    """The entry that decides about ``path``, or the first one for ``device``; as the user would write it."""
    best = None
    for entry in entries:
        if path and (not entry.key or path == entry.key or path.startswith(entry.key + ".")):
            if best is None or len(entry.key) > len(best.key):
                best = entry
        elif not path and str(entry.device) == device:
            best = entry
            break
    if best is None or (path and str(best.device) != device and device != "meta"):
        best = next((entry for entry in entries if str(entry.device) == device), None)
    if best is None:
        return None
    shown = str(best.device)
    return best.key, shown.removeprefix("cuda:") if shown.startswith("cuda:") else f'"{shown}"'
