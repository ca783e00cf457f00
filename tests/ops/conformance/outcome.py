"""What a call did: its result or its error, and what became of what it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .placing import may_differ, tensors


@dataclass
class Outcome:
    given: list[torch.Tensor]
    versions: list[int]  # of `given` before the call
    sizes: list[Any]  # of `given` before the call
    result: list[Any] = field(default_factory=list)  # leaves
    gradients: list[Any] = field(default_factory=list)
    second: list[Any] = field(default_factory=list)  # gradients of the gradients
    error: Exception | None = None
    stage: str = "call"  # where the error came


def version(tensor: torch.Tensor) -> int:
    return -1 if torch.nn.parameter.is_lazy(tensor) or tensor.is_inference() else tensor._version


def size(tensor: torch.Tensor) -> Any:
    return None if torch.nn.parameter.is_lazy(tensor) or tensor.is_nested else tensor.size()


def weights_of(tensor: torch.Tensor) -> torch.Tensor:
    """A gradient for `tensor`: small numbers that differ, the same on every device."""
    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided or tensor.is_nested:
        return torch.ones_like(tensor)
    numbers = (torch.arange(tensor.numel(), dtype=torch.float32) % 7 - 2.5).to(tensor.dtype).reshape(tensor.shape)
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device).copy_(numbers)


def differentiate(targets: list[torch.Tensor], sources: list[torch.Tensor], again: bool) -> list[Any]:
    return list(
        torch.autograd.grad(
            targets, sources, [weights_of(target) for target in targets], create_graph=again, allow_unused=True
        )
    )


def evaluate(call: Callable[[Any], Any], tree: Any, order: int) -> Outcome:
    """Runs `call` on `tree`; `order` is how many times the result is differentiated by what requires a gradient."""
    given = tensors(tree)
    outcome = Outcome(given, [version(tensor) for tensor in given], [size(tensor) for tensor in given])
    torch.manual_seed(1)
    try:
        result = call(tree)
        outcome.result = pytree.tree_leaves(result)
        sources = list({id(t): t for t in given if t.requires_grad and t.is_leaf}.values())
        targets = [t for t in tensors(result) if t.requires_grad and may_differ(t)]
        for round_ in range(1, order + 1):
            if not sources or not targets:
                break
            outcome.stage = f"backward {round_}"
            gradients = differentiate(targets, sources, again=round_ < order)
            (outcome.gradients if round_ == 1 else outcome.second).extend(gradients)
            targets = [t for t in gradients if t is not None and t.requires_grad]
    except Exception as error:
        error.__traceback__ = None
        outcome.error = error
    return outcome
