"""What placed a model or its parts: the events of its tensors' trails, and what the user asked for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan.probe.models import Tree
from devsan.probe.trails import Trails, copy_of, settle


def complete(core: Any, trails: Trails, tree: Tree, model: Any) -> None:
    """Fills in ``model`` (the core's) what moved or dispatched it, oldest first, and the map as the user wrote it."""
    paths: dict[int, list[str]] = {}
    last: dict[int, list[Any]] = {}
    count = 0
    for path, _, tensor, _ in tree.tensors():
        count += 1
        number, _ = trails.origin_of(tensor)
        if number not in last:
            last[number] = trails.from_placement(number)
        for event in last[number]:
            if event.kind != core.EventKind.MADE:
                paths.setdefault(event.sequence, []).append(path)
    events = {event.sequence: event for trail in last.values() for event in trail}
    where, text = _asked_for(events.values())
    if text and len(model.device_map) > 0:
        model.device_map_text = text
    placements = []
    for sequence in sorted(paths):
        event = copy_of(core, events[sequence])
        event.subject = "" if len(paths[sequence]) == count else _common(paths[sequence])
        placements.extend(settle(core, [event], "", model, where))
    model.placements = placements


def _asked_for(events: Any) -> tuple[Any | None, str]:
    """The program's line that asked for a device map, and the map as it is written there."""
    for event in events:
        if event.owner.setting != "device_map":
            continue
        for frame in event.stack:
            if frame.package == "" and "device_map" in frame.source:
                text = device_map_text(frame.source)
                if text:
                    return frame, text
    return None, ""


def device_map_text(source: str) -> str:
    """Returns ``device_map="auto"`` of a call's text, "" where it has none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        _, found, rest = source.partition("device_map=")
        return f"device_map={rest.split(',')[0].split(')')[0].strip()}" if found else ""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "device_map":
            return f"device_map={ast.unparse(node.value)}".replace("'", '"')
    return ""


def _common(paths: Sequence[str]) -> str:
    """The innermost module that all of ``paths`` are in."""
    parts = [path.split(".") for path in paths]
    shared = []
    for level in zip(*parts, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared)
