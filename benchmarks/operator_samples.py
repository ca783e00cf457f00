"""The first float32 sample of every operator of torch's own list (op_db), so that no operator is overlooked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

from operands import Work

# Operators that no emulated GPU has, or that wait for something else than a kernel.
SKIPPED = ("jiterator", "torch.ops.aten._flash_attention_forward", "torch.ops.aten._efficient_attention_forward")


def placed(value: Any, device: str) -> Any:
    """Copies a sample's argument to a device: tensors, and a device that it names."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device(device)
    if isinstance(value, dict):
        return {name: placed(each, device) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(placed(each, device) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(placed(each, device) for each in value)
    return value


def samples(devices: tuple[str, str]) -> Iterator[tuple[str, tuple[Work, Work]]]:
    """Gives each operator's name and its call on either device.

    Left out is what either device refuses, and the random operators, whose samples set the seed; `tensor_cases`
    has them.
    """
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    for operator in op_db:
        if operator.name.startswith(SKIPPED) or not operator.dtypes:
            continue
        dtype = torch.float32 if torch.float32 in operator.dtypes else min(operator.dtypes, key=str)
        sample = next(iter(operator.sample_inputs("cpu", dtype)), None)
        if sample is None:
            continue

        def call(device: str, function: Any = operator.op, sample: Any = sample) -> Work:
            first = placed(sample.input, device)
            rest, named = placed(tuple(sample.args), device), placed(dict(sample.kwargs), device)
            return lambda: function(first, *rest, **named)

        try:
            works = (call(devices[0]), call(devices[1]))
            with mock.patch("torch.manual_seed") as seeding:
                for work in works:
                    work()
        except (RuntimeError, TypeError):
            continue  # conformance is not measured here
        if seeding.called:
            continue  # its sample sets the seed and restores the state each time: a hundred times what is measured
        variant = f" {operator.variant_test_name}" if operator.variant_test_name else ""
        yield operator.name + variant, works
