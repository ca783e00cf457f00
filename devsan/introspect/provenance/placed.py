"""What placed a model or its parts: the events of its tensors' provenance, and what the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from devsan import core
from devsan.introspect.models.device_maps import asked_for, settle
from devsan.introspect.models.models import Tree
from devsan.introspect.models.module_facts import facts_of
from devsan.introspect.provenance.reader import ProvenanceReader


def model_of(tree: Tree, reader: ProvenanceReader) -> core.Model:
    """Returns what is known of a model: its modules, what moved or dispatched it, oldest first, and its device map as
    the user wrote it."""
    model = facts_of(tree)
    _complete(model, tree, reader)
    return model


def _complete(model: core.Model, tree: Tree, reader: ProvenanceReader) -> None:
    paths: dict[int, list[str]] = {}
    first: dict[Any, int] = {}  # placement of each call that moved some
    events: dict[int, core.Event] = {}
    last: dict[int, list[core.Event]] = {}
    seen: set[int] = set()
    for path, _, tensor, _ in tree.tensors():
        if id(tensor) in seen:  # a tied weight was moved under its first path: the depth is of that
            continue
        seen.add(id(tensor))
        number, _ = reader.origin_of(tensor)
        if number not in last:
            last[number] = reader.from_placement(number)
        for event in last[number]:
            events[event.sequence] = event
            if event.kind != core.EventKind.MADE:
                root, call = _moved_by(event, path)
                paths.setdefault(first.setdefault(call, event.sequence), []).append(path if root is None else root)
    where, text = asked_for(events.values())
    if text and len(model.device_map) > 0:
        model.device_map_text = text
    placements = []
    for sequence in sorted(paths):
        event = copy(events[sequence])
        event.subject = _common(paths[sequence])
        placements.extend(settle([event], "", model, where))
    model.placements = placements


def _moved_by(event: core.Event, path: str) -> tuple[str | None, Any]:
    """The module whose ``to`` moved the tensor at ``path``, and the call; or None and the event itself.

    Module._apply calls itself for each child: its depth on the stack tells how far above the tensor it began.
    """
    applied = [place for place, frame in enumerate(event.stack) if frame.function.endswith("Module._apply")]
    parts = path.split(".") if path else []
    if not applied or len(applied) - 1 > len(parts):
        return None, event.sequence
    root = ".".join(parts[: len(parts) - len(applied) + 1])
    return root, (root, str(event.device), tuple(_line(frame) for frame in event.stack[applied[-1] + 1 :]))


def _line(frame: core.Frame) -> tuple[str, int]:
    return frame.file, frame.span.line


def _common(paths: Sequence[str]) -> str:
    """The innermost module that all of ``paths`` are in."""
    parts = [path.split(".") for path in paths]
    shared = []
    for level in zip(*parts, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared)
