"""A model that nothing has moved goes to the GPU where it is created."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_weight
from devsan.fix.origins import origin_of_name
from devsan.fix.scope import devices

_DOUBT = 6


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves of the model that an operand on the host is a weight of, behind the call that makes the model."""
    model = failure.models[0] if failure.models else None
    if model is None or not failure.is_mixed or _devices(model) != {"cpu"}:
        return
    origin = origin_of_name(failure, model["expression"])
    if origin is None or not isinstance(origin.node, ast.Call):
        return
    for operand, partner in failure.pairs():
        if not is_weight(operand) or operand["device"] != "cpu":
            continue
        source, made = origin.source, origin.node
        for device, doubt in devices(source, made, partner):
            text = message("move `{name}` to {device} where it is created", name=model["expression"],
                           device=device.strip('"'))  # fmt: skip
            edit = source.replace(made, f"{source.segment(made)}.to({device})")
            yield Change(text, "creation_site", (edit,), "DV103", _DOUBT + doubt)


def _devices(model: object) -> set[str]:
    modules = model["modules"]  # type: ignore[index]
    return {tensor["device"] for module in modules for tensor in module["tensors"]}
