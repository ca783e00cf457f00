"""A tensor's trail in words, for ``devsan.where``."""

from __future__ import annotations

from typing import Any

from devsan.probe.placement import Placement
from devsan.probe.tensors import is_tensor, placement_of, plain_attributes
from devsan.probe.trails import Trails


def trail_text(core: Any, tensor: Any) -> str:
    """Returns how ``tensor`` came to be where it is, newest first, a line or two for each event.

    Args:
        core: ``devsan._core``, or None when it is not there.
        tensor: any value; what is no tensor is said to be none.
    """
    if not is_tensor(tensor):
        return f"devsan: expected a tensor, got {type(tensor).__name__}"
    with plain_attributes():
        placement: Placement | None = placement_of(tensor)
        events = Trails(core).of(tensor) if core is not None else []
    lines = [f"{placement.kind if placement is not None else 'tensor'} on {placement.device if placement else '?'}"]
    if not events:
        lines.append("  nothing is recorded about it" if core is not None else "  DevSan's core is not loaded")
    for event in events:
        lines.append(f"  {sentence_of(core, event)}")
        site = event.site
        if site is not None:
            column = f":{site.span.column}" if site.span.column else ""
            lines.append(
                f"   --> {site.file}:{site.span.line}{column}  {site.source.splitlines()[0] if site.source else ''}"
            )
    return "\n".join(lines)


def sentence_of(core: Any, event: Any) -> str:
    """Returns one event in words: "moved from cpu to cuda:1 by accelerate (AlignDevicesHook)"."""
    owner = event.owner
    who = "this program" if owner.name == "program" else owner.name
    by = f" by {who}" if who else ""
    if owner.mechanism and owner.mechanism not in event.op:
        by += f" ({owner.mechanism})"
    if owner.setting:
        by += f": {owner.setting}"
    kinds = core.EventKind
    if event.kind == kinds.COMPUTED:
        return f"computed on {event.device} by {event.op}"
    if event.kind == kinds.MADE:
        return f"made on {event.device}{by}, {event.op}"
    verb = "loaded" if event.kind == kinds.LOADED else "moved"
    origin = f" from {event.from_device}" if str(event.from_device) else ""
    return f"{verb}{origin} to {event.device}{by}, {event.op}"
