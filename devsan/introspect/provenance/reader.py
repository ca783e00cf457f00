"""How a tensor came to be where it is: the core's placement records, read as events.

Records hold code objects and offsets; here they become files, lines, owners and the words that said the device. Without
recording (on real GPUs, or switched off) a tensor has no provenance, and `creation` looks in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.places import place_at, without_machinery
from devsan.introspect.frames.tensors import own_part
from devsan.introspect.provenance.device_values import settle_source
from devsan.introspect.source.statements import Said, read
from devsan.owners import PROGRAM, Recognized, owner_of, writer_of
from devsan.owners.program import BACKWARD
from devsan.owners.torch_loading import READERS

DEFAULT_DEVICE = "torch.set_default_device"
_KEEP = frozenset({"clone", "contiguous", "reshape", "flatten", "repeat", "float", "half", "double", "bfloat16", "long",
                   "int", "bool", "type", "expand_as", "masked_fill", "tile"})  # fmt: skip
_DEEPEST = 64  # moves back and forth that are followed


class ProvenanceReader:
    """Reads provenance, each placement once.

    Args:
    """

    def __init__(self) -> None:
        self._events: dict[int, core.Event] = {}

    def origin_of(self, tensor: Any) -> tuple[int, str]:
        """Returns the number of the placement that decided where ``tensor`` is, 0 if unknown, and what computed it."""
        try:
            placement, computed_by = core.origin_of(own_part(tensor))
            return int(placement), str(computed_by)
        except Exception:  # a core that records nothing; a tensor without storage
            return 0, ""

    def of(self, tensor: Any) -> list[core.Event]:
        """Returns the provenance of ``tensor``: the core's Events, newest first; empty when nothing is known."""
        return self.from_origin(*self.origin_of(tensor))

    def from_origin(self, placement: int, computed_by: str) -> list[core.Event]:
        """Returns the provenance of a tensor of which ``origin_of`` says this."""
        events = self.from_placement(placement)
        if events and computed_by:
            computed = core.Event(
                kind=core.EventKind.COMPUTED, device=events[0].device, op=computed_by, sequence=events[0].sequence
            )
            return [computed, *events]
        return events

    def from_placement(self, placement: int) -> list[core.Event]:
        """Returns the event of a placement and those of what was copied for it, newest first."""
        found: list[core.Event] = []
        seen: set[int] = set()
        while placement and placement not in seen and len(found) < _DEEPEST:
            seen.add(placement)
            record = core.placement(placement)
            if record is None:
                break
            if placement not in self._events:
                self._events[placement] = self._event(placement, record)
            found.append(self._events[placement])
            placement = 0 if self._is_factory(record) else int(record.source)
        return found

    def known_before_dropped(self, placement: int) -> int | None:
        """Returns how many placements are known before one that was dropped; None where none was."""
        for known in range(_DEEPEST):
            if not placement:
                return None
            record = core.placement(placement)
            if record is None:
                return known
            placement = 0 if self._is_factory(record) else int(record.source)
        return None

    def _is_factory(self, record: core.Placement) -> bool:
        """Whether what was moved was made by the same instruction: torch.tensor(data, device="cuda")."""
        source = core.placement(int(record.source)) if record.is_move and record.source else None
        return source is not None and not source.is_move and source.frames == record.frames

    def _event(self, number: int, record: core.Placement) -> core.Event:
        stack = without_machinery([place_at(code, offset) for code, offset in record.frames])
        is_move = bool(record.is_move) and not self._is_factory(record)
        event = event_at(stack, str(record.device), str(record.op), is_move)
        event.bytes = int(record.bytes)
        event.sequence = 2 * number  # odd numbers are for what is known to lie between two placements
        if is_move:
            event.from_device = core.Device(record.from_device)
        return event


def event_at(stack: Sequence[core.Frame], device: str, op: str, is_move: bool) -> core.Event:
    """Returns the event of a placement by ``stack`` (the core's frames, innermost first)."""
    recognized = owner_of(stack, device)
    caller = writer_of(stack)
    said = read(caller) if caller is not None else Said()
    if recognized.mechanism == BACKWARD:  # the first gradient is made like the loss
        return core.Event(kind=core.EventKind.COMPUTED, device=device, op=BACKWARD, stack=list(stack[:48]),
                          followed=said.receiver)  # fmt: skip
    if said.call in READERS and not recognized.mechanism:
        recognized = Recognized("torch.load", "safetensors", "device", loads=True)
    if recognized.name == DEFAULT_DEVICE and said.device is not None:  # the mode looked on
        recognized = Recognized(caller.package or PROGRAM if caller is not None else PROGRAM)
    if not is_move and not recognized.mechanism and said.receiver and said.call in _KEEP:
        # an operator's own allocation: its result is where its operand was
        return core.Event(kind=core.EventKind.COMPUTED, device=device, op=f"aten::{said.call}", stack=list(stack[:48]),
                          followed=said.receiver)  # fmt: skip
    kind = core.EventKind.LOADED if recognized.loads else core.EventKind.MOVED if is_move else core.EventKind.MADE
    mechanism = recognized.mechanism or said.call or op
    event = core.Event(
        kind=kind, device=device, op=_op(op, said, recognized, is_move), stack=list(stack[:48]),
        owner=core.Owner(name=recognized.name, mechanism=mechanism, setting=recognized.setting),
    )  # fmt: skip
    if recognized.setting == "device_map":
        event.source = core.DeviceSource.MAP
    elif recognized.name == DEFAULT_DEVICE:
        event.source = core.DeviceSource.DEFAULT
    elif said.peer:
        event.source, event.device_text = core.DeviceSource.PEER, said.device or ""
    elif said.device is not None:
        event.device_text = said.device
        settle_source(event)
    elif said.is_factory:
        event.source = core.DeviceSource.DEFAULT
    event.discarded = said.discarded and is_move and said.receiver != "" and recognized.mechanism == ""
    return event


def _op(op: str, said: Said, recognized: Recognized, is_move: bool) -> str:
    if recognized.mechanism:
        return recognized.mechanism
    if said.is_factory:
        return f"aten::{said.call}"
    if is_move and said.receiver:
        return f"Tensor.{said.call}"
    return op
