"""The entry of a device map that decided where a tensor is, and the map as the user wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

from devsan import core
from devsan.owners.settings import argument_text


def settle(
    events: Sequence[core.Event], path: str, model: core.Model | None, where: core.Frame | None = None
) -> list[core.Event]:
    """Returns ``events`` with the entry of the device map that decided in place of the word "device_map".

    Args:
        events: a provenance.
        path: of the tensor in ``model``; "" when it is none of its own: then the first entry for the device is meant.
        model: the core's Model, or None.
        where: the line that asked for the map, the core's Frame.
    """
    entries = list(model.device_map) if model is not None else []
    settled = []
    for event in events:
        if event.owner.setting == "device_map":
            text = getattr(model, "device_map_text", "") or _text_in(event.stack)
            setting = _setting(entries, path, str(event.device)) or text
            if not setting:  # cpu_offload and the like hang up the same hooks without a map
                setting = "execution_device" if event.owner.mechanism == "AlignDevicesHook" else "device_map"
            new = core.Owner(name=event.owner.name, mechanism=event.owner.mechanism, setting=setting)
            if where is not None:
                new.where = where
            event = copy(event)
            event.owner = new
        settled.append(event)
    return settled


def asked_for(events: Iterable[core.Event]) -> tuple[core.Frame | None, str]:
    """Returns the program's line that asked for the device map by which ``events`` placed, and the map as it is written
    there; (None, "") where it is written nowhere."""
    for event in events:
        if event.owner.setting == "device_map":
            for frame in event.stack:
                if frame.package == "" and (text := argument_text(frame.source, "device_map")):
                    return frame, text
    return None, ""


def _text_in(stack: Sequence[core.Frame]) -> str:
    texts = (argument_text(frame.source, "device_map") for frame in stack if frame.package == "")
    return next((text for text in texts if text), "")


def _setting(entries: Sequence[core.MapEntry], path: str, device: str) -> str:
    """The entry that decides about ``path``, or the first one for ``device``; as the user would write it.

    accelerate runs what is on the host or the disk on the main device, and keeps there what the root module holds
    itself (accelerate/big_modeling.py, dispatch_model).
    """
    of_device = next((entry for entry in entries if str(entry.device) == device), None)
    if not path:
        return _shown(of_device) if of_device is not None else ""
    covering = [entry for entry in entries if not entry.key or f"{path}.".startswith(f"{entry.key}.")]
    best = max(covering, key=lambda entry: len(entry.key), default=None)
    if best is None or (best.key == path and str(best.device) != device):  # accelerate passes over what is no module
        return f"main_device = {_written(device)}" if entries and device != "cpu" else ""
    if str(best.device) == device or device == "meta":
        return _shown(best)
    if str(best.device) in ("cpu", "disk"):
        return f"{_shown(best)}, main_device = {_written(device)}"
    return ""


def _shown(entry: core.MapEntry) -> str:
    return f'device_map["{entry.key}"] = {_written(str(entry.device))}'


def _written(device: str) -> str:
    return device.removeprefix("cuda:") if device.startswith("cuda:") else f'"{device}"'
