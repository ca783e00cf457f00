"""A generator is made on the device on which it draws, or draws where it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, is_factory, keyword, placed, with_keyword, with_value
from devsan.fix.candidates.use_site import is_read, move
from devsan.fix.change import DRAWS, Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.origins import operand_at
from devsan.fix.scope import devices
from devsan.fix.source import Source, source_of

_DOUBT = 10
_SAMPLERS = frozenset({"DataLoader", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "random_split"})


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the changes for generators."""
    if failure.finding["kind"] != "generator":
        return
    for operand in failure.operands:
        if operand["offending"]:
            yield from _made(failure, operand)
    for frame in failure.own_frames[:1]:
        yield from _drawn(frame, failure)
    for frame in failure.own_frames:
        source = source_of(frame["path"])
        if source is not None:
            yield from _samplers(source)


def _made(failure: Failure, operand: Mapping[str, Any]) -> Iterator[Change]:
    """The generator goes to the device of what it fills."""
    wanted = _wanted(failure, operand)
    for frame in placing_frames(operand):
        source = source_of(frame["path"])
        node = source.expression_at(frame) if source is not None else None
        if source is None or not isinstance(node, ast.Call) or function_name(node) != "Generator":
            continue
        for device, doubt in devices(source, node, wanted):
            if device.strip('"') == operand["device"]:
                continue
            text = message("make the generator on {device}", device=device.strip('"'))
            after = with_value(source, node, node.args[0], device) if node.args else placed(source, node, device)
            # A generator of the host is as good as another: what matters is where it draws.
            yield Change(text, "creation_site", (source.replace(node, after),), doubt=_DOUBT + min(doubt, 5))


def _wanted(failure: Failure, operand: Mapping[str, Any]) -> Mapping[str, Any]:
    for other in failure.operands:
        if other is not operand and other["device"] != operand["device"]:
            return other
    device = "cuda" if operand["device"] == "cpu" else "cpu"
    return {"name": "", "device": device, "provenance": ()}


def _drawn(frame: Mapping[str, Any], failure: Failure) -> Iterator[Change]:
    """The numbers are drawn where the generator is, from what is moved there, and moved."""
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    generator = keyword(call, "generator") if isinstance(call, ast.Call) else None
    if source is None or generator is None or not isinstance(call, ast.Call):
        return
    drawn = f"{source.segment(generator)}.device"
    if not is_factory(call):  # multinomial draws where its chances are
        for node in (operand_at(source, frame, each) for each in failure.operands if not each["offending"]):
            if node is not None and is_read(source, node):
                yield move(source, node, drawn, source.segment(node), _DOUBT + 1)
        return
    device = keyword(call, "device")
    behind = f".to({source.segment(device)})" if device is not None else ""
    text = message("draw on the device of `{name}`, and move what is drawn", name=source.segment(generator))
    after = with_keyword(source, call, "device", drawn) + behind
    yield Change(text, "use_site", (source.replace(call, after),), doubt=_DOUBT + 6)


def _samplers(source: Source) -> Iterator[Change]:
    """A sampler draws where tensors are made by default: its generator is there, the one that it makes itself too."""
    default = "torch.get_default_device()"
    is_told = "set_default_device" in source.text
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        if is_told and function_name(node) == "Generator" and not node.args and not node.keywords:
            text = message("make the generator on {device}", device=default)
            edit = source.replace(node, placed(source, node, default))
            yield Change(text, "creation_site", (edit,), doubt=_DOUBT + 6)
        if function_name(node) in _SAMPLERS and keyword(node, "generator") is None:
            text = message("give `{name}` a generator on the default device", name=function_name(node))
            after = with_keyword(source, node, "generator", f"torch.Generator(device={default})")
            # A sampler's own generator takes its seed from torch's.
            yield Change(text, "use_site", (source.replace(node, after),), doubt=_DOUBT + 7, alters=DRAWS)
