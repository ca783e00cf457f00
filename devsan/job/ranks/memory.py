"""What this process took on each GPU, and what placed there first."""

from __future__ import annotations

import sys
from typing import Any

from devsan import core
from devsan.introspect.provenance.device_values import say_value
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.run_files.records import event_of

_MOST = 50_000  # placements that are looked at
_KEPT = 2  # of each GPU
_NOTICEABLE = 2**16  # bytes that nothing in the program asked for


def memory_of_process() -> list[dict[str, Any]]:
    """Returns device, bytes, peak and the first placements of each GPU on which this process took memory."""
    used = {device: amounts for device, amounts in _amounts().items() if amounts[1] > 0}
    placed = _first_placements(set(used)) if core.is_here() and used else {}
    return [
        {"device": device, "bytes": now, "peak": peak, "placed": placed.get(device, [])}
        for device, (now, peak) in used.items()
        if placed.get(device) or peak >= _NOTICEABLE  # what the start of an emulation tries out is not the program's
    ]


def _amounts() -> dict[str, tuple[int, int]]:
    emulated = core.memory_now() if core.is_here() and core.is_recording() else []
    if emulated:
        return {f"cuda:{index}": (int(each[0]), int(each[2])) for index, each in enumerate(emulated)}
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    return {
        f"cuda:{index}": (int(torch.cuda.memory_allocated(index)), int(torch.cuda.max_memory_allocated(index)))
        for index in range(torch.cuda.device_count())
    }


def _first_placements(devices: set[str]) -> dict[str, list[Any]]:
    """Placements are numbered as they come. Those that the program asked for, else the first of all."""
    reader = ProvenanceReader()
    found: dict[str, list[Any]] = {device: [] for device in devices}
    for number in core.placements()[:_MOST]:
        record = core.placement(number)
        if record is None:  # dropped meanwhile
            continue
        if all(len(each) >= _KEPT for each in found.values()):
            break
        device = str(record.device)
        if device not in found or len(found[device]) >= _KEPT or record.times == 0:
            continue
        events = reader.from_placement(number)
        if events and any(frame.package == "" for frame in events[0].stack):
            say_value(events[0])
            found[device].append(event_of(events[0]))
    return found
