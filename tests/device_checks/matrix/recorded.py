"""Working calls of aten operators, recorded while torch's own samples (op_db and its kin) run on the CPU.

Two passes: in inference mode the dispatcher hands over composite operators whole, which are then taken apart one step;
with gradients it shows what is beneath them, and what backward calls.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .schema import Call, bound, tensor_count

LARGEST = 20000  # elements of an operand: the calls are run many times


def worth(call: Call) -> tuple[Any, ...]:
    """Orders calls by how much they tell: many operands with elements and dimensions, few elements."""
    tensors = [t for t in tree_leaves(call.values) if isinstance(t, torch.Tensor)]
    full = sum(t.numel() > 1 for t in tensors)
    with_dims = sum(t.dim() > 0 for t in tensors)
    usual = sum(t.dtype in (torch.float32, torch.int64, torch.bool) for t in tensors)
    distinct = len({t.data_ptr() for t in tensors})
    return (min(len(tensors), 8), full, with_dims, usual, distinct, -sum(t.numel() for t in tensors))


def copy_of(value: Any) -> Any:
    """The value, or its own copy where it is a plain tensor. A memory format is left out: it cannot be saved."""
    if isinstance(value, torch.memory_format):
        return None
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.preserve_format)


def works(call: Call) -> bool:
    """Whether the call can be run again: in-place samples are refused by some operators."""
    try:
        with torch.no_grad():
            call.run(call.mapped(lambda _, tensor: tensor.clone()))
    except Exception:  # whatever it is, this call is no sample
        return False
    return True


class Recorder(TorchDispatchMode):
    """Keeps the most telling call of each operator."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[OpOverload, Call] = {}
        self.origin = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.keep(func, args, kwargs)
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:
                return func.decompose(*args, **kwargs)
        return func(*args, **kwargs)

    def keep(self, func: OpOverload, args: Any, kwargs: Any) -> None:
        if func.namespace != "aten" or tensor_count(func) < 1:
            return
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(
            type(t) not in (torch.Tensor, torch.nn.Parameter)
            or t.numel() > LARGEST
            or t.layout != torch.strided
            or t.is_quantized
            or t.device.type != "cpu"
            or t.is_conj()
            or t.is_neg()
            for t in tensors
        ):
            return
        call = Call(func, bound(func, args, kwargs), self.origin)
        best = self.calls.get(func)
        if best is None or worth(call) > worth(best):
            call.values = tree_map(copy_of, call.values)
            if works(call):
                self.calls[func] = call


def infos() -> Iterator[Any]:
    from torch.testing._internal import common_methods_invocations as listed

    yield from listed.op_db
    for name in dir(listed):
        if name.startswith("foreach_") and name.endswith("_db"):
            yield from getattr(listed, name)


def samples_of(info: Any, dtype: torch.dtype, gradients: bool) -> Iterator[Any]:
    from torch.testing._internal.common_methods_invocations import ForeachFuncInfo

    if isinstance(info, ForeachFuncInfo):
        yield from info.sample_inputs("cpu", dtype, num_input_tensors=[3], noncontiguous=False, same_size=True)
    else:
        yield from info.sample_inputs("cpu", dtype, requires_grad=gradients)


def dtype_of(info: Any) -> torch.dtype | None:
    supported = info.supported_dtypes("cpu")
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        if dtype in supported:
            return dtype
    return next(iter(supported), None)


def forms_of(info: Any) -> Iterator[Any]:
    """The function, its in-place form, and its other names."""
    for entry in (info, *getattr(info, "aliases", ())):
        yield from (f for f in (entry.op, entry.inplace_variant) if f is not None)


def call_and_backward(function: Any, sample: Any) -> None:
    result = function(sample.input, *sample.args, **sample.kwargs)
    results = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if results:
        sum(t.abs().sum() if t.is_complex() else t.sum() for t in results).backward()


def record(most: int = 6, only: set[str] | None = None) -> dict[OpOverload, Call]:
    """The most telling call of each operator, from the first `most` samples of each entry."""
    recorder = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in infos():
            recorder.origin = info.full_name if hasattr(info, "full_name") else info.name
            if only is not None and recorder.origin not in only:
                continue
            functions = list(forms_of(info))
            dtype = dtype_of(info)
            if dtype is None:  # CUDA only
                continue
            gradients = info.supports_autograd and dtype.is_floating_point
            for with_gradients in {False, gradients}:
                for function in functions:
                    try:
                        samples = samples_of(info, dtype, with_gradients and function is info.op)
                        for number, sample in enumerate(samples):
                            if number >= most:
                                break
                            run_sample(recorder, function, sample, with_gradients and function is info.op)
                    except Exception:  # a generator of samples may need what is not installed
                        continue
    return recorder.calls


def run_sample(recorder: Recorder, function: Any, sample: Any, gradients: bool) -> None:
    try:
        if gradients:
            with recorder:
                call_and_backward(function, sample)
        else:
            with torch.inference_mode(), recorder:
                function(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # samples that need a GPU, in-place forms that cannot hold the result
        return
