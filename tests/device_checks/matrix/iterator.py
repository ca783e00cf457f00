"""TensorIterator's rule, and the words of the checks that the oracle predicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

CPU = torch.device("cpu")


class Refused(Exception):
    """CUDA refuses the call, in these words."""


class Unchecked(Refused):
    """CUDA's kernel compares nothing; DevSan refuses the call."""


def two(first: torch.device | str, second: torch.device | str) -> str:
    """aten/src/ATen/TensorIterator.cpp, compute_types."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"


def offending(argument: str, on: torch.device, others: torch.device, method: str) -> str:
    """aten/src/ATen/core/op_registration/adaption.cpp, common_device_check_failure."""
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on {on}, different from other tensors "
        f"on {others} (when checking argument in method {method})"
    )


def refuse(message: str) -> None:
    raise Refused(message)


def check_common(named: Iterable[tuple[str, torch.Tensor]], method: str) -> None:
    """c10::impl::check_and_update_common_device, once for each argument."""
    common = None
    for name, tensor in named:
        if common is None:
            common = tensor.device
        elif tensor.device != common:
            refuse(offending(name, tensor.device, common, method))


def iterate(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], host_scalars: bool) -> None:
    """compute_types: the common device is the first that is not the CPU, outputs first; with `allow_cpu_scalars` one
    0-dim CPU input may join it."""
    operands = [(t, True) for t in outputs] + [(t, False) for t in inputs]
    common = next((t.device for t, _ in operands if t.device != CPU), CPU)
    seen = 0
    for tensor, is_output in operands:
        if common != CPU and host_scalars and not is_output and tensor.dim() == 0 and tensor.device == CPU:
            if seen:
                refuse("Trying to pass too many CPU scalars to non-CPU kernel!")
            seen += 1
        elif tensor.device != common:
            refuse(two(common, tensor.device))
