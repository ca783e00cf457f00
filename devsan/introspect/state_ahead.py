"""What an optimizer's first step still needs where a GPU runs out of memory in it.

The request that was refused is one of hundreds: each parameter gets its state in turn. Of the parameters that have
theirs is known how much a byte of a parameter takes; where that is the same for all of them, the others will take as
much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from devsan import core
from devsan.diagnostics.messages import message
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_tensor, own_part
from devsan.introspect.models.optimizers import optimizers_in, states_of
from devsan.sizes import say_size

_ALIKE = 0.01  # by which ratios may differ: a counter beside the moments
_SMALL = 4096  # bytes of a parameter, beside which a counter is not small


@dataclass(frozen=True)
class StateAhead:
    """The state that parameters with a gradient on one GPU have, and will have. Sizes are bytes.

    Attributes:
        having: parameters whose state is there.
        count: of those that will have one.
        held: by what is there.
        ahead: what comes.
        elements: of the tensors of all of it.
    """

    having: int
    count: int
    held: int
    ahead: int
    elements: int

    @property
    def whole(self) -> int:
        """Returns the bytes of all of it."""
        return self.held + self.ahead


def state_ahead(optimizers: Sequence[Any], device: str) -> StateAhead | None:
    """Returns what ``optimizers`` will keep on ``device``; None where nothing comes, or its size cannot be known."""
    parameters: dict[int, tuple[Any, dict[str, Any]]] = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if str(parameter.device) == device and is_tensor(parameter.grad):
                    parameters[id(parameter)] = (parameter, {})
        for parameter, key, tensor in states_of(optimizer):
            if id(parameter) in parameters and str(tensor.device) == device:
                parameters[id(parameter)][1][key] = tensor
    started = [state for _, state in parameters.values() if state]
    if len(started) < 2:  # the first of them may lack a part of its state, and nothing says so
        return None
    most = max(map(len, started))
    done = [(_size([each]), state.values()) for each, state in parameters.values() if len(state) == most]
    pending = [_size([each]) for each, state in parameters.values() if len(state) < most]
    large = [(size, _size(state)) for size, state in done if size >= _SMALL]
    if not pending or not large:
        return None
    ratio = sum(state for _, state in large) / sum(size for size, _ in large)
    if any(abs(state / size - ratio) > _ALIKE * ratio for size, state in large):
        return None
    held = sum(_size(state.values()) for _, state in parameters.values())
    begun = held - sum(_size(state) for _, state in done)
    ahead = max(int(ratio * sum(pending)) - begun, 0)
    numbers = sum(own_part(each).numel() for _, state in done for each in state)
    return StateAhead(len(done), len(parameters), held, ahead, int(numbers * (held + ahead) / max(held - begun, 1)))


def with_state_ahead(finding: core.Finding, facts: core.Facts, frames: Sequence[Frame]) -> core.Finding:
    """Returns ``finding`` with what is missing in total, and what would make room for that, where an optimizer's first
    step fills the GPU; else as it is.

    Args:
        frames: of the traceback, by which the optimizers are found.
    """
    held = facts.failure.memory
    if held is None or facts.failure.phase != core.Phase.OPTIMIZER or finding.code != "DV501":
        return finding
    found = state_ahead(optimizers_in(frames, search=True), str(held.device))
    context = max(held.process - held.reserved, 0)
    missing = held.allocated + found.ahead + context + held.others - held.total if found is not None else 0
    if found is None or missing <= 0:
        return finding
    gradients = sum(part.bytes for part in held.parts if part.kind == core.HolderKind.GRADIENT)
    evidence = message(
        "The optimizer has its state for {having} of {count} parameters, and that of the others takes {ahead} more: at "
        "least {missing} is missing in total, not counting what the step and later passes need.",
        having=found.having, count=found.count, ahead=say_size(found.ahead), missing=say_size(missing),
    )  # fmt: skip
    finding.evidence = [*finding.evidence[:2], evidence, *finding.evidence[2:]]
    levers = [
        (found.whole + gradients, message(
            "train adapters (LoRA) instead of all parameters, if the model is pretrained: the gradients and optimizer "
            "state of all parameters take {bytes}", bytes=say_size(found.whole + gradients))),
        (found.whole, message(
            "keep the optimizer state in host memory (offload of ZeRO or FSDP): all of it takes {bytes}",
            bytes=say_size(found.whole))),
        (found.whole - found.elements, message(
            "use an 8-bit optimizer: its whole state takes about {eight} instead of {bytes}",
            eight=say_size(found.elements), bytes=say_size(found.whole))),
    ]  # fmt: skip
    fixes = [
        core.Fix(kind=core.FixKind.CREATION_SITE, text=text,
                 confidence=core.Confidence.LIKELY if frees >= missing else core.Confidence.POSSIBLE)
        for frees, text in levers if frees > 0
    ]  # fmt: skip
    # What the core proposes of one request is enough for that one alone.
    rest = [each for each in finding.fixes if "an optimizer that keeps less state" not in each.text]
    for each in rest:
        each.confidence = core.Confidence.POSSIBLE
    finding.fixes = [*fixes, *rest]
    return finding


def _size(tensors: Iterable[Any]) -> int:
    return sum(own.numel() * own.element_size() for own in map(own_part, tensors))
