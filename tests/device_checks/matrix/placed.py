"""Tensors that say they are on a GPU and hold their elements on the CPU, without any emulation.

torch's composite operators, in C++, see the device that such a tensor names and choose CUDA's way; what they call
arrives in `Cuda`, which asks the oracle and computes on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CPU = torch.device("cpu")


class Placed(torch.Tensor):
    """A tensor on `device` with the elements of `elements`, which is on the CPU."""

    elements: torch.Tensor

    @staticmethod
    def __new__(cls, elements: torch.Tensor, device: torch.device) -> Placed:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            elements.size(),
            strides=elements.stride(),
            storage_offset=elements.storage_offset(),
            dtype=elements.dtype,
            device=device,
        )
        made.elements = elements
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} met a placed tensor outside the oracle's mode")


def placed(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The tensor, said to be on `device`."""
    return tensor if device.type == "cpu" else Placed(tensor, device)


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """The CPU tensor under a placed one."""
    return tensor.elements if isinstance(tensor, Placed) else tensor


class Cuda(TorchDispatchMode):
    """Runs operators as a process with GPUs would: composites are taken apart, kernels are asked of the oracle.

    Autograd's keys are passed by, because in a CPU build they already choose the composite form of an operator that
    has a CUDA kernel.
    """

    def __enter__(self) -> Cuda:
        self._below = torch._C._AutoDispatchBelowAutograd()
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from . import rules
        from .schema import Call, bound, name_of

        kwargs = kwargs or {}
        if func.namespace == "aten":
            args, kwargs = with_numbers_wrapped(func, bound(func, args, kwargs))
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        gpu = next((t.device for t in tensors if isinstance(t, Placed)), None)
        if func.namespace != "aten" or (gpu is None and "device" not in kwargs):
            return func(*args, **kwargs)
        if (
            key := rules.sparse_key(func, kwargs, gpu is not None)
        ) is not None:  # made of strided members, which its wrapper compares
            rules.check_wrapper(Call(func, bound(func, args, kwargs)), key)
            raise rules.Reached
        if gpu is not None and rules.is_missing(func):
            raise rules.Missing(f"Could not run '{func.name()}' with arguments from the 'CUDA' backend.")
        several = len({t.device for t in tensors}) > 1
        slowly = name_of(func).startswith("_foreach_") and (several or name_of(func).endswith(".Tensor"))
        call = Call(func, bound(func, args, kwargs))
        if gpu is not None and (slowly or not rules.is_judged(call)):
            rules.check_foreach(call)
            for key in KEYS:
                if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key.name):
                    with self:
                        return func._op_dk(key, *args, **kwargs)
            raise rules.Unknown(f"{name_of(func)} has no CUDA kernel")
        if gpu is not None:
            rules.check(call)
        return compute(func, args, kwargs, gpu)


KEYS = (
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeImplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


def with_numbers_wrapped(func: Any, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """C++ hands over a wrapped number as a plain one; here it is a 0-dim CPU tensor again."""
    arguments = func._schema.arguments
    tensors = [
        torch.tensor(v) if is_number(v) and str(a.type) in ("Tensor", "Optional[Tensor]") else v
        for v, a in zip(values, arguments, strict=True)
    ]
    return (
        tuple(v for v, a in zip(tensors, arguments, strict=True) if not a.kwarg_only),
        {a.name: v for v, a in zip(tensors, arguments, strict=True) if a.kwarg_only},
    )


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def compute(func: Any, args: Any, kwargs: Any, gpu: torch.device | None) -> Any:
    """Computes on the CPU; the results are on the requested device, or on the first operand's GPU."""
    home = gpu or CPU
    known: list[tuple[torch.Tensor, torch.Tensor]] = []

    def lower(value: Any) -> Any:
        nonlocal home
        if isinstance(value, torch.device):
            home = value
            return CPU
        if isinstance(value, Placed):
            known.append((value, value.elements))
            return value.elements
        return value

    def raise_up(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        for outer, elements in known:
            if value is elements:
                return outer
        return placed(value, home)

    lowered = tree_map(lower, args), tree_map(lower, kwargs)
    return tree_map(raise_up, func(*lowered[0], **lowered[1]))
