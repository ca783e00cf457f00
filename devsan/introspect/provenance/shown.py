"""A tensor's provenance in words, for ``devsan.where``."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from devsan import core, ipython
from devsan.diagnostics.placement import Placement, owner_text
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_tensor, placement_of, plain_attributes
from devsan.introspect.models.device_maps import settle
from devsan.introspect.models.models import models_in
from devsan.introspect.models.module_facts import device_map_of, offload_of
from devsan.introspect.models.registry import Registry
from devsan.introspect.provenance.dropped import dropped_of
from devsan.introspect.provenance.placed import model_of
from devsan.introspect.provenance.reader import ProvenanceReader


def provenance_text(tensor: Any, caller: FrameType | None = None) -> str:
    """Returns how ``tensor`` came to be where it is, newest first, a line or two for each event.

    Args:
        tensor: any value; what is no tensor is said to be none.
        caller: who asks; the models in its variables, and its callers', tell which entry of a device map decided.
    """
    if not is_tensor(tensor):
        return f"devsan: expected a tensor, got {type(tensor).__name__}"
    with plain_attributes():
        placement: Placement | None = placement_of(tensor)
        events = provenance_of(tensor, caller) if core.is_here() else []
    lines = [f"{placement.kind if placement is not None else 'tensor'} on {placement.device if placement else '?'}"]
    dropped = dropped_of("this tensor", ProvenanceReader().origin_of(tensor)[0]) if core.is_here() else ""
    if not events and not dropped:
        lines.append("  nothing is recorded about it" if core.is_here() else "  DevSan's core is not loaded")
    for event in events:
        lines.append(f"  {sentence_of(event)}")
        site = event.site
        if site is not None:
            column = f":{site.span.column}" if site.span.column else ""
            place = f"{ipython.name_of(site.file) or site.file}:{site.span.line}{column}"
            lines.append(f"   --> {place}  {site.source.splitlines()[0] if site.source else ''}")
    if dropped:
        lines.append(f"  {dropped}")
    return "\n".join(lines)


def provenance_of(tensor: Any, caller: FrameType | None) -> list[core.Event]:
    """Returns the provenance of ``tensor``, newest first, with the entries of device maps that decided.

    Args:
        tensor: a tensor.
        caller: as in ``provenance_text``.
    """
    reader = ProvenanceReader()
    events = reader.of(tensor)
    offloaded = not events and str(tensor.device) == "meta"
    if not offloaded and all(event.owner.setting != "device_map" for event in events):
        return events
    registry = Registry(models_in(list(reversed(list(_frames(caller)))), search=True))
    home = registry.home_of(tensor)
    trees = registry.trees if home is None else [registry.trees[home.tree]]
    tree = next((each for each in trees if device_map_of(each)), None)
    if tree is None:
        return settle(events, "", None)
    if offloaded and home is not None:
        events = list(offload_of(tree, home.holder))
    return settle(events, home.path if home is not None else "", model_of(tree, reader))


def _frames(caller: FrameType | None) -> Iterator[Frame]:
    while caller is not None:
        yield Frame(TracebackType(None, caller, caller.f_lasti, caller.f_lineno))
        caller = caller.f_back


def sentence_of(event: core.Event) -> str:
    """Returns one event in words: "moved from cpu to cuda:1 by accelerate (AlignDevicesHook)"."""
    owner = event.owner
    by = f" by {owner_text(str(owner.name))}" if owner.name else ""
    if owner.mechanism and owner.mechanism not in event.op:
        by += f" ({owner.mechanism})"
    if owner.setting:
        by += f": {owner.setting}"
    kinds = core.EventKind
    if event.kind == kinds.COMPUTED:
        return f"computed on {event.device} by {event.op}"
    if event.kind == kinds.SHARED:
        return f"shared on {event.device} with {event.op}"
    if event.kind == kinds.MADE:
        return f"made on {event.device}{by}, {event.op}"
    verb = "loaded" if event.kind == kinds.LOADED else "moved"
    origin = f" from {event.from_device}" if str(event.from_device) else ""
    return f"{verb}{origin} to {event.device}{by}, {event.op}"
