"""A checkpoint is read to the device where the program uses what is in it, or to where each tensor was saved from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, with_keyword, without_keywords
from devsan.fix.change import COPIES, Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.scope import devices
from devsan.fix.source import Source, source_of

_DOUBT = 6
_AS_SAVED = 5
_CURRENT = 2  # that of the rank, where a program has set it
_NOT_THERE = 10  # for a GPU that is not there, the host is as good as any


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a ``map_location`` for each ``torch.load`` that placed an operand, or that fails itself."""
    if "deserialize" in failure.finding["sentence"]:
        nowhere = {"name": "", "device": "cpu", "provenance": ()}
        for source, call in _calls(failure.own_frames):
            if keyword(call, "map_location") is None:
                yield from _read_to(source, call, devices(source, call, nowhere), _NOT_THERE)
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for source, call in _loads(operand):
            on_gpus = all(each["device"].startswith("cuda") for each in (operand, partner))
            if on_gpus and keyword(call, "map_location") is not None:
                yield _read_as_saved(source, call)
            current = [('"cuda"', _CURRENT)] if partner["device"].startswith("cuda") else []
            yield from _read_to(source, call, current + devices(source, call, partner), _DOUBT)
    for operand in failure.operands if failure.finding["kind"] == "host" else ():
        for source, call in _loads(operand):
            yield from _read_to(source, call, [('"cpu"', 0)], _DOUBT)


def _loads(operand: Mapping[str, Any]) -> Iterator[tuple[Source, ast.Call]]:
    if any(event["owner"]["name"] == "torch.load" for event in operand["provenance"]):
        yield from _calls(placing_frames(operand, "loaded"))


def _calls(frames: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Source, ast.Call]]:
    """The innermost call of ``load``: one further out may be of a function of the program's own."""
    for frame in frames:
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is not None and isinstance(call, ast.Call) and function_name(call) == "load":
            yield source, call
            return


def _read_as_saved(source: Source, call: ast.Call) -> Change:
    """Without ``map_location``: what layers on several GPUs computed is read to those."""
    edit = without_keywords(source, call, {"map_location"})
    return Change(message("read each tensor of the checkpoint to the GPU that it was saved from"), "creation_site",
                  (edit,), doubt=_AS_SAVED)  # fmt: skip


def _read_to(source: Source, call: ast.Call, places: list[tuple[str, int]], doubt: int) -> Iterator[Change]:
    for device, its_doubt in places:
        text = message("read the checkpoint to {device}, wherever it was saved", device=device.strip('"'))
        after = with_keyword(source, call, "map_location", device)
        yield Change(text, "creation_site", (source.replace(call, after),), doubt=doubt + min(its_doubt, 5),
                     alters=COPIES)  # what is there already is taken by load_state_dict as it is  # fmt: skip
