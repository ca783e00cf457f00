"""Samples of module_db and optim_db."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .samples import Sample

STEPS = 3


def module_samples(info: Any, dtype: torch.dtype) -> Iterator[Sample]:
    """A tree is (module, args, kwargs)."""
    from .samples import Sample

    for training in (True, False):
        torch.manual_seed(0)
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for one in inputs:
            if one.forward_input is None:
                continue
            made = one.constructor_input
            try:
                module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
            except Exception:  # the sample is one of an error
                continue
            given = one.forward_input
            tree = module, given.args, given.kwargs
            # A lazy module draws its parameters in its first call, more than once.
            yield Sample(tree, lambda tree: tree[0](*tree[1], **tree[2]), random=info.is_lazy)


def parameters_for(info: Any, dtype: torch.dtype) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    shapes = [(2, 3), (5, 2)] if info.name == "Muon" else [(3,), (2, 3), (), (5, 2)]
    return [torch.nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]


def optimizer_samples(info: Any, dtype: torch.dtype) -> Iterator[Sample]:
    """A tree is (parameters, the gradients of each step); the optimizer's state is part of the result."""
    from .samples import Sample

    kinds: list[dict[str, Any]] = [
        {name: True} for name in info.supported_impls if name in ("foreach", "differentiable")
    ]
    if "foreach" in info.supported_impls:
        kinds.append({"foreach": False})
    if "cpu" in info.supports_fused_on and "fused" in info.supported_impls:
        kinds.append({"fused": True})
    inputs = [one.kwargs for one in info.optim_inputs_func(device="cpu", dtype=dtype)]
    gradients = [[torch.randn_like(p).detach() for p in parameters_for(info, dtype)] for _ in range(STEPS)]
    if info.only_supports_sparse_grads:
        gradients = [[g.to_sparse() if g.dim() else g.reshape(1).to_sparse() for g in step] for step in gradients]
    for kwargs in inputs:
        for kind in kinds or [{}]:
            if kind == {"fused": True} and not may_fuse(kwargs):
                continue
            parameters = parameters_for(info, dtype)
            if info.only_supports_sparse_grads:
                parameters = [p if p.dim() else torch.nn.Parameter(p.detach().reshape(1)) for p in parameters]
            yield Sample((parameters, gradients), training_of(info, {**kwargs, **kind}))
        # What torch chooses by itself: on CUDA another implementation than on the CPU, whose last bit may differ.
        yield Sample((parameters_for(info, dtype), gradients), training_of(info, dict(kwargs)), close=True)


def may_fuse(kwargs: dict[str, Any]) -> bool:
    return not isinstance(kwargs.get("lr"), torch.Tensor)


def training_of(info: Any, kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    def train(tree: Any) -> Any:
        parameters, gradients = tree
        device = parameters[0].device
        placed = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
        optimizer = info.optim_cls(parameters, **placed)

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            total = torch.stack([(p.abs() ** 2).sum() for p in parameters]).sum()
            total.backward()
            return total

        for step in gradients:
            if info.step_requires_closure:
                optimizer.step(loss)
                continue
            for parameter, gradient in zip(parameters, step, strict=True):
                parameter.grad = gradient.clone()
            with torch.set_grad_enabled(bool(kwargs.get("differentiable"))):
                optimizer.step()
        states = [optimizer.state[p] for p in parameters]
        return [{name: noted(name, value) for name, value in sorted(state.items())} for state in states]

    return train


def noted(name: str, value: Any) -> Any:
    """Numbers that are kept on the CPU, except where the optimizer is fused or may be captured in a graph."""
    return float(value) if name in ("step", "mu_product") else value
