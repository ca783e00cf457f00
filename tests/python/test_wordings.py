"""Mixed devices, in torch's own words: whole sentences, as a program on real GPUs gets them.

Where a sentence comes from: TensorIterator (aten/src/ATen/TensorIterator.cpp), the check that torchgen writes into each
CUDA wrapper (c10::impl::common_device_check_failure), or the kernel that is named beside the case.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from devsan import emulate

A, B = "cuda:0", "cuda:1"


@pytest.fixture(scope="module", autouse=True)
def four_gpus() -> Iterator[None]:
    with emulate(gpus=4):
        yield


def ones(*shape: int, on: str = "cpu") -> torch.Tensor:
    return torch.ones(*shape, device=on)


def longs(*values: int, on: str = "cpu") -> torch.Tensor:
    return torch.tensor(values, dtype=torch.long, device=on)


def scalar(on: str = "cpu") -> torch.Tensor:
    return torch.tensor(1.0, device=on)


def two(first: str, second: str) -> str:
    """TensorIterator's sentence: the common device, then the first operand that is elsewhere."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"


def odd(argument: str, on: str, others: str, method: str) -> str:
    """The generated check's sentence: the first argument that is not where those before it are."""
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on {on}, different from other tensors "
        f"on {others} (when checking argument in method wrapper_CUDA_{method})"
    )


def index_on(device: str) -> str:
    return f"indices should be either on cpu or on the same device as the indexed tensor ({device})"


def types(first: str, what: str, second: str) -> str:
    return f"Input type ({first}) and {what} type ({second}) should be the same"


def recurrent(name: str, first: str, second: str) -> str:
    """aten/src/ATen/native/RNN.h, check_attributes."""
    return (
        f"Input and {name} tensors are not at the same device, found input tensor at {first} and {name} tensor at "
        f"{second}"
    )


def assigned(target: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    target = target.clone()
    target[index] = value
    return target


def attend(**on: str) -> torch.Tensor:
    query, key, value = (ones(1, 2, 3, 4, on=on.get(name, A)) for name in ("query", "key", "value"))
    mask = ones(3, 3, on=on["mask"]) if "mask" in on else None
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def convolve(input_on: str, weight_on: str, bias_on: str | None = None) -> torch.Tensor:
    bias = None if bias_on is None else ones(1, on=bias_on)
    return functional.conv2d(ones(1, 1, 4, 4, on=input_on), ones(1, 1, 2, 2, on=weight_on), bias)


def step_after_move(optimizer: type[torch.optim.Optimizer], **options: Any) -> None:
    """The state is on the CPU, the parameters have moved since."""
    module = nn.Linear(2, 2)
    steps = optimizer(module.parameters(), lr=0.1, **options)  # type: ignore[call-arg]
    module(ones(1, 2)).sum().backward()
    steps.step()
    steps.zero_grad()
    module.to(A)
    module(ones(1, 2, on=A)).sum().backward()
    steps.step()


class Misplaced(torch.autograd.Function):
    """Its gradient is on another device than its input."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, device: str) -> torch.Tensor:
        context.device = device
        return tensor.clone()

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0].to(context.device), None


def misplaced_gradient(device: str) -> None:
    Misplaced.apply(ones(2, on=A).requires_grad_(), device).sum().backward()


def loaded_elsewhere() -> None:
    """A checkpoint from a machine with more GPUs."""
    file = io.BytesIO()
    torch.save(ones(2, on=B), file)
    file.seek(0)
    content = file.getvalue().replace(b"cuda:1", b"cuda:7")
    torch.load(io.BytesIO(content), weights_only=True)


def row(*name_call_message: Any) -> Any:
    name, call, message = name_call_message
    return pytest.param(call, message, id=name)


Case = Callable[[], Any]

ITERATOR = [
    row("two GPUs", lambda: ones(2, on=A) + ones(2, on=B), two(A, B)),
    row("two GPUs, other order", lambda: ones(2, on=B) + ones(2, on=A), two(B, A)),
    row("GPU, CPU", lambda: ones(2, on=A) * ones(2), two(A, "cpu")),
    row("CPU, GPU", lambda: ones(2) * ones(2, on=A), two(A, "cpu")),
    row("in place", lambda: ones(2).add_(ones(2, on=B)), two(B, "cpu")),
    row("in place, on the GPU", lambda: ones(2, on=B).add_(ones(2)), two(B, "cpu")),
    row("out=", lambda: torch.add(ones(2, on=A), ones(2, on=A), out=ones(2, on=B)), two(B, A)),
    row("out= on the CPU", lambda: torch.add(ones(2, on=A), ones(2, on=A), out=ones(2)), two(A, "cpu")),
    row("out= on a GPU, of CPU tensors", lambda: torch.add(ones(2), ones(2), out=ones(2, on=A)), two(A, "cpu")),
    row("0-dim on a GPU, to CPU", lambda: ones(2) * scalar(A), two(A, "cpu")),
    row("0-dim on a GPU, in place on the CPU", lambda: ones(2).add_(scalar(A)), two(A, "cpu")),
    row("0-dim of two GPUs", lambda: scalar(A) + scalar(B), two(A, B)),
    row("0-dim on another GPU", lambda: ones(2, on=A) + scalar(B), two(A, B)),
    row("comparison", lambda: ones(2, on=A) == ones(2), two(A, "cpu")),
    row("maximum", lambda: torch.maximum(ones(2), ones(2, on=B)), two(B, "cpu")),
    row("atan2", lambda: torch.atan2(ones(2, on=A), ones(2, on=B)), two(A, B)),
    row("addcdiv", lambda: torch.addcdiv(ones(2, on=A), ones(2, on=B), ones(2, on=A)), two(A, B)),
    row(
        "two CPU scalars",
        lambda: torch.addcmul(ones(2, on=A), scalar(), scalar()),
        "Trying to pass too many CPU scalars to non-CPU kernel!",
    ),
    row("where", lambda: torch.where(ones(2, on=A) > 0, ones(2, on=A), ones(2, on=B)), two(A, B)),
    row("where, condition on the CPU", lambda: torch.where(ones(2) > 0, ones(2, on=A), ones(2, on=A)), two(A, "cpu")),
    row("mse_loss", lambda: functional.mse_loss(ones(2, on=A), ones(2)), two(A, "cpu")),
    row("binary_cross_entropy", lambda: functional.binary_cross_entropy(ones(2, on=A), ones(2)), two(A, "cpu")),
    row("index_fill", lambda: ones(2, 2, on=A).index_fill_(0, longs(0), 1.0), two(A, "cpu")),
    row("sum, out=", lambda: torch.sum(ones(2, 2, on=A), 0, out=ones(2)), two(A, "cpu")),
    row("_foreach_add", lambda: torch._foreach_add([ones(2, on=A)], [ones(2, on=B)]), two(A, B)),
    row("Adam's state", lambda: step_after_move(torch.optim.Adam), two(A, "cpu")),
    row("SGD's momentum", lambda: step_after_move(torch.optim.SGD, momentum=0.9), two(A, "cpu")),
    row("Adagrad's state", lambda: step_after_move(torch.optim.Adagrad), two(A, "cpu")),
]

GENERATED = [
    row("mm", lambda: ones(2, 3, on=A) @ ones(3, 2), odd("mat2", "cpu", A, "mm")),
    row("mm of the CPU by a GPU", lambda: ones(2, 3) @ ones(3, 2, on=A), odd("mat2", A, "cpu", "mm")),
    row("mm of two GPUs", lambda: ones(2, 3, on=A) @ ones(3, 2, on=B), odd("mat2", B, A, "mm")),
    row(
        "linear, input on the CPU",
        lambda: functional.linear(ones(2, 3), ones(4, 3, on=A), ones(4, on=A)),
        odd("mat1", "cpu", A, "addmm"),
    ),
    row(
        "linear, input on another GPU",
        lambda: functional.linear(ones(2, 3, on=A), ones(4, 3, on=B), ones(4, on=B)),
        odd("mat1", A, B, "addmm"),
    ),
    row(
        "linear of three dimensions, no bias",
        lambda: functional.linear(ones(2, 2, 3, on=A), ones(4, 3, on=B)),
        odd("mat2", B, A, "mm"),
    ),
    row("bmm", lambda: torch.bmm(ones(1, 2, 3, on=A), ones(1, 3, 2)), odd("mat2", "cpu", A, "bmm")),
    row("einsum", lambda: torch.einsum("ij,jk", ones(2, 3, on=A), ones(3, 2, on=B)), odd("mat2", B, A, "bmm")),
    row("dot", lambda: torch.dot(ones(3, on=A), ones(3)), odd("tensor", "cpu", A, "_dot")),
    row("mv", lambda: torch.mv(ones(2, 3, on=A), ones(3)), odd("mat", A, "cpu", "addmv_")),
    row("embedding", lambda: functional.embedding(longs(0), ones(2, 3, on=A)), odd("index", "cpu", A, "_index_select")),
    row(
        "embedding on another GPU",
        lambda: functional.embedding(longs(0, on=B), ones(2, 3, on=A)),
        odd("index", B, A, "_index_select"),
    ),
    row("index_select", lambda: ones(2, on=A).index_select(0, longs(0)), odd("index", "cpu", A, "_index_select")),
    row(
        "cross_entropy",
        lambda: functional.cross_entropy(ones(2, 3, on="cuda:3"), longs(0, 1, on=B)),
        odd("target", B, "cuda:3", "nll_loss_forward"),
    ),
    row(
        "cross_entropy, weight",
        lambda: functional.cross_entropy(ones(2, 3, on=A), longs(0, 1, on=A), weight=ones(3)),
        odd("weight", "cpu", A, "nll_loss_forward"),
    ),
    row(
        "cross_entropy of images",
        lambda: functional.cross_entropy(ones(1, 3, 2, 2, on=A), torch.zeros(1, 2, 2, dtype=torch.long)),
        odd("target", "cpu", A, "_nll_loss2d_forward"),
    ),
    row(
        "layer_norm",
        lambda: functional.layer_norm(ones(2, 3, on=A), (3,), ones(3, on=B)),
        odd("weight", B, A, "_native_layer_norm"),
    ),
    row(
        "rms_norm",
        lambda: functional.rms_norm(ones(2, 3, on=A), (3,), ones(3, on=B)),
        odd("weight", B, A, "__fused_rms_norm"),
    ),
    row(
        "group_norm",
        lambda: functional.group_norm(ones(2, 4, 3, on=A), 2, ones(4)),
        odd("weight", "cpu", A, "_native_group_norm"),
    ),
    # Normalization.cpp chooses cuDNN's kernel for three dimensions and more.
    row(
        "batch_norm",
        lambda: nn.BatchNorm2d(4).to(B)(ones(2, 4, 3, 3, on=A)),
        odd("weight", B, A, "_cudnn_batch_norm"),
    ),
    row(
        "batch_norm of two dimensions",
        lambda: nn.BatchNorm1d(4)(ones(2, 4, on=A)),
        odd("weight", "cpu", A, "_native_batch_norm"),
    ),
    row(
        "batch_norm, input on the CPU",
        lambda: nn.BatchNorm2d(4).to(B)(ones(2, 4, 3, 3)),
        odd("weight", B, "cpu", "_native_batch_norm"),
    ),
    row("prelu", lambda: nn.PReLU().to(B)(ones(2, on=A)), odd("weight", B, A, "__prelu_kernel")),
    row("cat", lambda: torch.cat([ones(2, on=A), ones(2, on=B)]), odd("tensors", B, A, "cat")),
    row("stack", lambda: torch.stack([ones(2), ones(2, on=A)]), odd("tensors", A, "cpu", "cat")),
    row("gather", lambda: ones(2, 2, on=A).gather(1, longs(0).view(1, 1)), odd("index", "cpu", A, "gather")),
    row(
        "scatter",
        lambda: ones(2, 2, on=A).scatter(1, longs(0, on=B).view(1, 1), 1.0),
        odd("index", B, A, "scatter_value"),
    ),
    row(
        "scatter_add_",
        lambda: ones(2, 2, on=A).scatter_add_(1, longs(0, on=A).view(1, 1), ones(1, 1)),
        odd("src", "cpu", A, "scatter_add_"),
    ),
    row("clamp", lambda: torch.clamp(ones(2, on=A), scalar(), scalar()), odd("min", "cpu", A, "clamp_Tensor")),
    row("masked_select", lambda: ones(2, on=A).masked_select(ones(2) > 0), odd("mask", "cpu", A, "_masked_select")),
    row("bucketize", lambda: torch.bucketize(ones(2, on=A), ones(3)), odd("boundaries", "cpu", A, "Tensor_bucketize")),
    row(
        "searchsorted", lambda: torch.searchsorted(ones(3, on=A), ones(2)), odd("self", "cpu", A, "Tensor_searchsorted")
    ),
    row("take", lambda: ones(2, on=A).take(longs(0)), odd("index", "cpu", A, "_take")),
    row("put_", lambda: ones(2, on=A).put_(longs(0), ones(1, on=A)), odd("index", "cpu", A, "_put_")),
    row(
        "index_add_",
        lambda: ones(2, on=A).index_add_(0, longs(0, on=A), ones(1)),
        odd("source", "cpu", A, "index_add_"),
    ),
    row("index_copy", lambda: ones(2, on=A).index_copy(0, longs(0), ones(1)), odd("index", "cpu", A, "index_copy")),
    row(
        "grid_sample",
        lambda: functional.grid_sample(ones(1, 1, 4, 4, on=A), ones(1, 2, 2, 2), align_corners=False),
        odd("grid", "cpu", A, "_grid_sampler_2d"),
    ),
    row("linalg.solve", lambda: torch.linalg.solve(ones(1, 1, on=A), ones(1)), odd("B", "cpu", A, "_linalg_solve_ex")),
    row("equal", lambda: torch.equal(ones(2, on=A), ones(2, on=B)), odd("other", B, A, "_equal")),
    row(
        "multinomial, out=",
        lambda: torch.multinomial(ones(3, on=A), 2, out=longs(0, 0)),
        odd("self", A, "cpu", "out_multinomial_out"),
    ),
    row(
        "fused AdamW's state",
        lambda: step_after_move(torch.optim.AdamW, fused=True),
        odd("exp_avgs", "cpu", A, "__fused_adamw_"),
    ),
    row(
        "attention's mask",
        lambda: attend(mask="cpu"),
        odd("attn_bias", "cpu", A, "__scaled_dot_product_efficient_attention"),
    ),
    row("an LSTM cell", lambda: nn.LSTMCell(3, 4).to(A)(ones(2, 3, on=B)), odd("mat2", A, B, "mm")),
    row("an LSTM cell, input on the CPU", lambda: nn.LSTMCell(3, 4).to(A)(ones(2, 3)), odd("mat1", "cpu", A, "addmm")),
]

KERNELS = [
    row(
        "masked_fill",
        lambda: ones(2, on=A).masked_fill(ones(2) > 0, 0.0),
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    row(
        "masked_fill on the CPU",
        lambda: ones(2).masked_fill(ones(2, on=A) > 0, 0.0),
        "expected self and mask to be on the same device, but got mask on cuda:0 and self on cpu",
    ),
    row(
        "masked_fill on the CPU, a tensor's value",
        lambda: ones(2).masked_fill(ones(2, on=A) > 0, scalar()),
        "masked_fill_: Expected inputs to be on same device",
    ),
    row("an index on another GPU", lambda: ones(2, on=A)[longs(0, on=B)], index_on(A)),
    row("a GPU's index for a CPU tensor", lambda: ones(2)[longs(0, on=A)], index_on("cpu")),
    row("a GPU's mask for a CPU tensor", lambda: ones(2)[ones(2, on=A) > 0], index_on("cpu")),
    row("assignment by an index on another GPU", lambda: assigned(ones(2, on=A), longs(0, on=B), 0.0), index_on(A)),
    row("assignment of a CPU value", lambda: assigned(ones(2, on=A), longs(0, 1), ones(2)), two(A, "cpu")),
    row("assignment of another GPU's value", lambda: assigned(ones(2, on=A), longs(0, 1), ones(2, on=B)), two(A, B)),
    row("assignment to a CPU tensor", lambda: assigned(ones(2), longs(0, 1), ones(2, on=A)), two(A, "cpu")),
    row(
        "index_put_ that accumulates",
        lambda: ones(2, on=A).index_put_((longs(0, on=A),), ones(1), accumulate=True),
        "expected device cuda:0 but got device cpu for value tensor",
    ),
    row("convolution", lambda: convolve("cpu", A), types("torch.FloatTensor", "weight", "torch.cuda.FloatTensor")),
    row(
        "convolution, weight on the CPU",
        lambda: convolve(A, "cpu"),
        types("torch.cuda.FloatTensor", "weight", "torch.FloatTensor"),
    ),
    row(
        "convolution, bias on the CPU",
        lambda: convolve(A, A, "cpu"),
        types("torch.cuda.FloatTensor", "bias", "torch.FloatTensor"),
    ),
    row(
        "convolution of two types",
        lambda: functional.conv2d(ones(1, 1, 4, 4, on=A).half(), ones(1, 1, 2, 2, on=B)),
        types("torch.cuda.HalfTensor", "weight", "torch.cuda.FloatTensor"),
    ),
    row("convolution of two GPUs", lambda: convolve(A, B), odd("weight", B, A, "_cudnn_convolution")),
    row("convolution, bias on another GPU", lambda: convolve(A, A, B), two(A, B)),
    row(
        "transposed convolution",
        lambda: functional.conv_transpose2d(ones(1, 1, 4, 4, on=A), ones(1, 1, 2, 2, on=B)),
        odd("weight", B, A, "_cudnn_convolution_transpose"),
    ),
    row(
        "depthwise convolution",
        lambda: functional.conv2d(ones(1, 2, 4, 4, on=A), ones(2, 1, 2, 2, on=B), groups=2),
        odd("weight", B, A, "__conv_depthwise2d"),
    ),
    row(
        "attention",
        lambda: attend(key=B),
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 key.device: cuda:1 "
        "and value.device: cuda:0 instead.",
    ),
    row("an LSTM's input", lambda: nn.LSTM(3, 4).to(A)(ones(2, 1, 3)), recurrent("parameter", "cpu", A)),
    row("an LSTM on another GPU", lambda: nn.LSTM(3, 4).to(A)(ones(2, 1, 3, on=B)), recurrent("parameter", B, A)),
    row(
        "a GRU's hidden state",
        lambda: nn.GRU(3, 4).to(A)(ones(2, 1, 3, on=A), ones(1, 1, 4)),
        recurrent("hidden", A, "cpu"),
    ),
    row(
        "packed lengths",
        lambda: nn.utils.rnn.pack_padded_sequence(ones(3, 2, 1, on=A), longs(3, 1, on=A)),
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    ),
    row(
        "istft",
        lambda: torch.istft(torch.ones(5, 3, dtype=torch.complex64, device=A), 8, window=ones(8)),
        "istft input and window must be on the same device but got self on cuda:0 and window on cpu",
    ),
    row(
        "block_diag",
        lambda: torch.block_diag(ones(1, 1, on=A), ones(1, 1)),
        "torch.block_diag: input tensors must all be on the same device. Input 0 is on device cuda:0 and input 1 is on "
        "device cpu",
    ),
    row(
        "meshgrid",
        lambda: torch.meshgrid(ones(2, on=A), ones(2), indexing="ij"),
        "meshgrid expects all tensors to have the same device",
    ),
    row(
        "quantile",
        lambda: torch.quantile(ones(2, on=A), ones(1)),
        "quantile() q tensor must be on the same device as the input tensor",
    ),
    row(
        "multi_dot",
        lambda: torch.linalg.multi_dot([ones(2, 2, on=A), ones(2, 2), ones(2, 2)]),
        "multi_dot(): all tensors must be on the same device but tensor 0 is on cuda:0 and tensor 1 on cpu",
    ),
    row(
        "DataParallel",
        lambda: nn.DataParallel(nn.Linear(2, 2).to(B), device_ids=[0, 1])(ones(4, 2, on=A)),
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: "
        "cuda:1",
    ),
    row(
        "a gradient on the CPU",
        lambda: misplaced_gradient("cpu"),
        "Function MisplacedBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    row(
        "a gradient on another GPU",
        lambda: misplaced_gradient(B),
        "Function MisplacedBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cuda:1",
    ),
    row(
        "set_",
        lambda: ones(2, on=A).set_(ones(2, on=B)),
        'Attempted to set the storage of a tensor on device "cuda:0" to a storage on different device "cuda:1".  '
        "This is no longer allowed; the devices must match.",
    ),
    row(
        "a CPU generator for a GPU",
        lambda: torch.randn(2, device=A, generator=torch.Generator()),
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    row(
        "a GPU's generator for the CPU",
        lambda: torch.randn(2, generator=torch.Generator(A)),
        "Expected a 'cpu' device type for generator but found 'cuda'",
    ),
]


@pytest.mark.parametrize(("call", "message"), ITERATOR + GENERATED + KERNELS)
def test_mixed_devices_raise_torchs_sentence(call: Case, message: str) -> None:
    with pytest.raises(RuntimeError) as failure:
        call()
    assert str(failure.value) == message


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: ones(2, on=B) * scalar(), id="0-dim on the CPU"),
        pytest.param(lambda: scalar() - ones(2, on=B), id="0-dim on the CPU, first"),
        pytest.param(lambda: scalar() + scalar(B), id="two of 0 dimensions"),
        pytest.param(lambda: ones(2, on=B).add_(scalar()), id="0-dim on the CPU, in place"),
        pytest.param(lambda: torch.lerp(ones(2, on=B), ones(2, on=B), scalar()), id="lerp's weight"),
        pytest.param(lambda: torch.where(ones(2, on=B) > 0, ones(2, on=B), scalar()), id="where, 0-dim"),
        pytest.param(
            lambda: torch.where(ones(2, on=B) > 0, scalar(A), ones(2, on=B)), id="where, 0-dim on another GPU"
        ),
        pytest.param(lambda: ones(2, on=B).masked_fill(ones(2, on=B) > 0, scalar(A)), id="masked_fill's value"),
        pytest.param(lambda: ones(2, on=B).fill_(scalar(A)), id="fill_"),
        pytest.param(lambda: ones(2, on=B)[longs(0)], id="a CPU index"),
        pytest.param(lambda: ones(2, on=B)[ones(2) > 0], id="a CPU mask"),
        pytest.param(lambda: assigned(ones(2, on=B), longs(0), scalar(A)), id="assignment of 0 dimensions"),
        pytest.param(lambda: assigned(ones(2, on=B), slice(0, 1), ones(1)), id="assignment to a slice copies"),
        pytest.param(lambda: ones(2, on=B).copy_(ones(2, on=A)), id="copy_"),
        pytest.param(
            lambda: torch.bernoulli(ones(2, on=B), generator=torch.Generator(A)), id="another GPU's generator"
        ),
        pytest.param(lambda: nn.utils.rnn.pad_sequence([ones(2, on=B), ones(3)]), id="pad_sequence copies"),
        pytest.param(
            lambda: functional.ctc_loss(ones(3, 1, 2, on=B), longs(1).view(1, 1), longs(3), longs(1)),
            id="ctc_loss moves its targets",
        ),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)


def test_a_tensor_of_a_gpu_is_no_array() -> None:
    message = (
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )
    for call in (lambda: ones(2, on=A).numpy(), lambda: np.asarray(ones(2, on=A))):
        with pytest.raises(TypeError) as failure:
            call()
        assert str(failure.value) == message


def test_an_ordinal_that_is_not_there_is_cudas_error() -> None:
    for call in (lambda: ones(1, on="cuda:7"), lambda: ones(1).to("cuda:4"), lambda: torch.cuda.set_device(9)):
        with pytest.raises(torch.AcceleratorError, match=r"^CUDA error: invalid device ordinal\n"):
            call()


def test_a_checkpoint_of_a_larger_machine_is_refused() -> None:
    with pytest.raises(RuntimeError) as failure:
        loaded_elsewhere()
    assert str(failure.value).startswith(
        "Attempting to deserialize object on CUDA device 7 but torch.cuda.device_count() is 4. Please use torch.load "
        "with map_location to map your storages to an existing device."
    )


def test_meta_tensors_have_no_data_to_copy() -> None:
    with pytest.raises(NotImplementedError) as failure:
        ones(2, on="meta").to(A)
    assert str(failure.value) == "Cannot copy out of meta tensor; no data!"
    with pytest.raises(NotImplementedError, match=re.escape("Please use torch.nn.Module.to_empty() instead")):
        nn.Linear(2, 2, device="meta").to(A)


def test_a_gradient_is_assigned_only_on_its_tensors_device() -> None:
    parameter = ones(2, on=A).requires_grad_()
    with pytest.raises(RuntimeError) as failure:
        parameter.grad = ones(2)
    assert str(failure.value) == (
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. Please ensure "
        "that the gradient and the tensor are on the same device"
    )
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient located on device with index"):
        parameter.grad = ones(2, on=B)


def test_data_may_change_its_device() -> None:
    tensor = ones(2)
    tensor.data = ones(2, on=B)
    assert tensor.device == torch.device(B)


def test_a_refusal_leaves_its_operands_as_they_were() -> None:
    target = ones(3, on=A)
    version = target._version
    with pytest.raises(RuntimeError):
        target.add_(ones(3, on=B))
    assert torch.equal(target.cpu(), torch.ones(3))
    assert target._version == version
