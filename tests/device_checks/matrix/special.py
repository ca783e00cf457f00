"""Operators whose kernels look at devices themselves, each with the place in PyTorch's source that says so.

A rule here is a model of that source, written for the oracle alone. Where a rule is `unchecked`, CUDA's kernel compares
nothing and reads through raw pointers: on a real machine the call ends in an illegal memory access or, between GPUs
with peer access, in a slow success. DevSan refuses it, in TensorIterator's words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from .iterator import CPU, iterate, refuse
from .schema import Call


@dataclass(frozen=True)
class Special:
    """What a kernel checks beyond the generated check, and where that stands."""

    check: Callable[[Call], None]
    source: str
    applies: Callable[[Call], bool] = lambda call: True
    """False where the operator's composite is to be run instead, as torch would."""


SPECIAL: dict[str, Special] = {}


def special(
    source: str, *names: str, applies: Callable[[Call], bool] = lambda call: True
) -> Callable[[Callable[[Call], None]], Callable[[Call], None]]:
    def add(check: Callable[[Call], None]) -> Callable[[Call], None]:
        SPECIAL.update({name: Special(check, source, applies) for name in names})
        return check

    return add


def of(call: Call, argument: str) -> list[torch.Tensor]:
    """The tensors of an argument: none, one, or a list's."""
    return [
        t
        for o, t in zip(call.operands, call.tensors(), strict=True)
        if call.op._schema.arguments[o.argument].name == argument
    ]


def one(call: Call, argument: str) -> torch.Tensor:
    return of(call, argument)[0]


def accepts(source: str, *names: str) -> None:
    special(source, *names)(lambda call: None)


accepts("aten/src/ATen/native/Copy.cpp, copy_: joining devices is what it does", "copy_", "_to_copy", "_copy_from")
accepts("aten/src/ATen/native/Fill.cpp, fill_: a value elsewhere is read by item()", "fill_.Tensor")
accepts("aten/src/ATen/native/cuda/DistributionTemplates.h, bernoulli_kernel: p is moved to self", "bernoulli_.Tensor")
accepts("aten/src/ATen/native/Distributions.cpp, bernoulli_out: result.resize_().bernoulli_(self)", "bernoulli.out")
accepts("aten/src/ATen/native/TensorProperties.cpp, is_set_to: compares storages, reads no element", "is_set_to")


@special("aten/src/ATen/native/TensorAdvancedIndexing.cpp, TORCH_PRECOMPUTE_META_FUNC2(index, Tensor)", "index.Tensor")
@special("aten/src/ATen/native/TensorAdvancedIndexing.cpp, index_out", "index.Tensor_out")
def index(call: Call) -> None:
    device = one(call, "self").device
    if any(t.device not in (CPU, device) for t in of(call, "indices")):
        refuse(f"indices should be either on cpu or on the same device as the indexed tensor ({device})")
    iterate(of(call, "out"), [one(call, "self")], host_scalars=False)


@special(
    "aten/src/ATen/native/TensorAdvancedIndexing.cpp, _index_put_impl_: indices are moved to self (expandTensors), a "
    "single CPU value fills a mask (canDispatchToMaskedFill), a 0-dim value is moved",
    "_index_put_impl_",
)
def index_put(call: Call) -> None:
    self, value = one(call, "self"), one(call, "values")
    indices = of(call, "indices")
    if not call.value("accumulate") and value.numel() == 1 and value.device == CPU:
        masks = [t for t in indices if t.dtype in (torch.bool, torch.uint8) and t.device == self.device]
        if len(masks) == len(indices) == 1:
            return
    if value.dim() == 0 or value.device == self.device:
        return
    if self.device.type == "cuda" and call.value("accumulate"):
        refuse(f"expected device {self.device} but got device {value.device} for value tensor")
    iterate([self], [value], host_scalars=False)


@special("aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda", "masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill(call: Call) -> None:
    self, mask = one(call, "self"), one(call, "mask")
    if of(call, "value") and self.device == CPU:
        refuse("masked_fill_: Expected inputs to be on same device")
    if self.device != mask.device:
        refuse(
            f"expected self and mask to be on the same device, but got mask on {mask.device} and self on {self.device}"
        )


@special("aten/src/ATen/native/TensorCompare.cpp, where and where_self_out", "where.self", "where.self_out")
def where(call: Call) -> None:
    inputs = [one(call, name) for name in ("condition", "self", "other")]
    device = next((t.device for t in [*of(call, "out"), *inputs] if t.device != CPU), CPU)
    if of(call, "out"):
        device = one(call, "out").device
    left = [t for t in inputs if device == CPU or t.dim() != 0]
    iterate([torch.empty(0, device=CPU) if device == CPU else _on(device)], left, host_scalars=False)


def _on(device: torch.device) -> torch.Tensor:
    from .placed import placed

    return placed(torch.empty(0), device)


@special(
    "aten/src/ATen/native/TensorAdvancedIndexing.cpp, index_fill_: a value in a tensor is read by item(), the index is "
    "TensorIterator's without its exemption",
    "index_fill_.int_Scalar",
    "index_fill_.int_Tensor",
)
def index_fill(call: Call) -> None:
    iterate([one(call, "self")], of(call, "index"), host_scalars=False)


@special("aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_cuda", "binary_cross_entropy")
@special("aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_cuda", "binary_cross_entropy.out")
def binary_cross_entropy(call: Call) -> None:
    loss = of(call, "out") or of(call, "self")
    iterate(loss, [one(call, "self"), one(call, "target")], host_scalars=False)
    if of(call, "weight"):
        iterate(loss, [one(call, "weight")], host_scalars=True)


def elementwise(call: Call, inputs: Sequence[torch.Tensor], host_scalars: bool) -> None:
    """A TensorIterator over `inputs`: sizes first, of what is written in place too."""
    shape = torch.broadcast_shapes(*(each.shape for each in inputs))
    written = [one(call, "self")] if call.op._schema.name.endswith("_") else []
    if written and written[0].shape != shape:
        given = list(written[0].shape)
        raise RuntimeError(f"output with shape {given} doesn't match the broadcast shape {list(shape)}")
    iterate([*of(call, "out"), *written], inputs, host_scalars)


def on_gpu(call: Call, arguments: Sequence[str], words: str) -> None:
    """Refuses the first of `arguments`, 0-dim CPU tensors, that a kernel behind a TensorIterator does not take."""
    if all(t.device == CPU for t in call.tensors()):
        return
    for number, argument in enumerate(arguments, start=1):
        if one(call, argument).device == CPU:
            refuse(words.format(number=number, argument=argument))


ASSERTION = (
    'iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at "/pytorch/aten/src/ATen/native/cuda/Loops.cuh":109, please '
    "report a bug to PyTorch. argument {number}: expected a CUDA device but found cpu"
)


@special("aten/src/ATen/native/cuda/Lerp.cu: gpu_kernel of Loops.cuh; a weight on the CPU is read there", *(
    f"lerp{form}" for form in (".Scalar", ".Scalar_out", "_.Scalar", ".Tensor", ".Tensor_out", "_.Tensor")
))  # fmt: skip
def lerp(call: Call) -> None:
    elementwise(call, [one(call, "self"), one(call, "end"), *of(call, "weight")], host_scalars=True)
    on_gpu(call, ("self", "end"), ASSERTION)


@special("aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu: gpu_kernel", "smooth_l1_loss", "smooth_l1_loss.out")
def smooth_l1_loss(call: Call) -> None:
    elementwise(call, [one(call, "self"), one(call, "target")], host_scalars=True)
    on_gpu(call, ("self", "target"), ASSERTION)


@special("as it was seen on an H100 with torch 2.11", "mse_loss", "mse_loss.out")
def mse_loss(call: Call) -> None:
    inputs = [one(call, "self"), one(call, "target")]
    elementwise(call, inputs, host_scalars=True)  # the meta function's
    iterate(of(call, "out"), inputs, host_scalars=False)


@special("aten/src/ATen/native/cuda/PointwiseOpsKernel.cu", "addcmul", "addcmul.out", "addcmul_")
def addcmul(call: Call) -> None:
    elementwise(call, [one(call, name) for name in ("self", "tensor1", "tensor2")], host_scalars=True)
    words = "CPU Scalar support for {argument} argument is not supported when calling addcmul on CUDA tensors."
    on_gpu(call, ("self",), words)
    on_gpu(
        call,
        ("tensor1",),
        f"{words} However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms.",
    )


@special("aten/src/ATen/native/cuda/Distributions.cpp, _s_binomial_cuda: the result is made like count", "binomial")
def binomial(call: Call) -> None:
    iterate([one(call, "count")], [one(call, "count"), one(call, "prob")], host_scalars=False)


@special("aten/src/ATen/native/BinaryOps.cpp, rsub: sub(other, self)", "rsub.Tensor")
def rsub(call: Call) -> None:
    iterate([], [one(call, "other"), one(call, "self")], host_scalars=True)


@special(
    "aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu, log_sigmoid_forward_out_cuda: the buffer is the CPU's",
    "log_sigmoid_forward.output",
)
def log_sigmoid(call: Call) -> None:
    iterate([one(call, "output")], [one(call, "self")], host_scalars=False)


@special(
    "aten/src/ATen/native/BucketizationUtils.h, searchsorted_pre_check", "searchsorted.Tensor", "searchsorted.Scalar"
)
@special("aten/src/ATen/native/BucketizationUtils.h, searchsorted_pre_check", "searchsorted.Tensor_out")
@special("aten/src/ATen/native/BucketizationUtils.h, searchsorted_pre_check", "searchsorted.Scalar_out")
def searchsorted(call: Call) -> None:
    boundaries = one(call, "sorted_sequence")
    for sorter in of(call, "sorter"):
        if sorter.device != boundaries.device:
            refuse(
                "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor "
                f"device type {sorter.device} and input value tensor device type {boundaries.device}"
            )


@special("aten/src/ATen/native/ReduceOps.cpp, std_var_out: TensorIterator", "std.correction_out", "var.correction_out")
def std_var(call: Call) -> None:
    dims = max(one(call, "self").dim(), 1)
    for dim in call.value("dim") or []:
        if not -dims <= dim < dims:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-dims}, {dims - 1}], but got {dim})"
            )
    iterate(of(call, "out"), of(call, "self"), host_scalars=False)


@special("aten/src/ATen/native/ReduceAllOps.cpp, min and max with out=", "min.unary_out", "max.unary_out")
def reduce_all(call: Call) -> None:
    if one(call, "self").device != one(call, "out").device:
        refuse(
            "Expected self.device() == out.device() to be true, but got false.  (Could this error message be improved?"
            "  If so, please report an enhancement request to PyTorch.)"
        )


@special("aten/src/ATen/native/TensorShape.cpp, set_: c10 refuses a storage of another device", "set_.source_Tensor",
         "set_.source_Tensor_storage_offset")  # fmt: skip
def set_tensor(call: Call) -> None:
    self, source = one(call, "self"), one(call, "source")
    if self.device != source.device:
        refuse(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{source.device}".  This is no longer allowed; the devices must match.'
        )
