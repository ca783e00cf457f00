"""The device map with other entries: a block in one piece, a head with the labels, two that meet on one device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from devsan.diagnostics.messages import Message, message
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.loading import map_text
from devsan.fix.placed_model import PlacedModel, placed_models

_BLOCKS, _ENTRIES, _BEHIND_USE_SITES, _ONE_DEVICE = 2, 4, 27, 45  # see NOTE [Doubts]
_ENTRY = re.compile(r'device_map\["(?P<key>[^"]*)"\] = ')
_DISPATCH = (
    "from accelerate import dispatch_model",
    "from accelerate.hooks import remove_hook_from_submodules",
    "",
    "remove_hook_from_submodules({model})",
)


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the loading call with other maps, those that change least first, and last the whole model on one GPU."""
    for model in placed_models(failure):
        if len(set(model.device_map.values())) < 2:
            continue
        for text, changed, doubt in _maps(model, failure):
            if changed != model.device_map:
                yield from _with(model, changed, text, "map", doubt, "DV107" if doubt == _BLOCKS else "")
        device = model.main_device
        text = message("put the whole model on {device}", device=device)
        yield from _with(model, {"": device}, text, "one_device", _ONE_DEVICE)


def _maps(model: PlacedModel, failure: Failure) -> Iterator[tuple[Message, Mapping[str, str], int]]:
    entries = _ENTRIES if failure.in_library else _BEHIND_USE_SITES
    for block in model.cut_blocks(involved(failure))[:3]:
        text = message("keep each {type} whole in the device map", type=model.types[block])
        yield text, model.with_whole(block), _BLOCKS
    for keys in (model.heads, model.loose):
        if keys:
            text = message(
                "put {entries} on {device} in the device map", entries=_names(keys), device=model.main_device
            )
            yield text, model.with_entries_on(keys, model.main_device), entries
    for operand, partner in failure.pairs():
        for event in operand["provenance"]:
            found = _ENTRY.match(event["owner"]["setting"])
            if found and found["key"] in model.device_map:
                text = message("put {entries} on {device} in the device map", entries=_names([found["key"]]),
                               device=partner["device"])  # fmt: skip
                yield text, model.with_entries_on([found["key"]], partner["device"]), entries + 1


def involved(failure: Failure) -> list[str]:
    """Returns the paths of the modules that ran when it failed, the innermost first, and of those with operands."""
    running = [frame["module"] for frame in failure.finding["stack"] if frame["module"]]
    holding = [operand[key] for operand in failure.operands for key in ("holder", "qualified_name") if operand[key]]
    return list(dict.fromkeys([*running, *holding]))


def _with(
    model: PlacedModel, changed: Mapping[str, str], text: Message, kind: str, doubt: int, code: str = ""
) -> Iterator[Change]:
    loading = model.loading
    if loading is None:
        return
    line = loading.source.lines[loading.statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    edit = loading.with_map(map_text(changed, indent))
    if edit is not None:
        yield Change(text, kind, (edit,), code, doubt)
        return
    lines = [*_DISPATCH, *f"dispatch_model({{model}}, device_map={map_text(changed)})".split("\n")]
    yield Change(text, kind, loading.then(lines), code, doubt + 1)


def _names(keys: list[str]) -> str:
    shown = ", ".join(f'"{key}"' for key in keys[:4])
    return f"{shown}, ..." if len(keys) > 4 else shown
