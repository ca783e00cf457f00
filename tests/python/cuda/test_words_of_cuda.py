"""What the host's kernel refuses in words of its own is refused in those of CUDA's kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional
from torch.ops import aten

pytestmark = pytest.mark.usefixtures("four_gpus")

Call = Callable[[], object]
FAR, NEGATIVE = 9, -9


def on_gpu(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(sizes, device="cuda:1").to(dtype)


def index(value: int, *sizes: int) -> torch.Tensor:
    return torch.full(sizes or (2,), value, device="cuda:1")


def table() -> torch.Tensor:
    return on_gpu(4, 3)


@pytest.mark.parametrize(
    "call, kernel",
    [
        (functional.silu, "silu_cuda"),
        (functional.gelu, "GeluCUDAKernelImpl"),
        (functional.elu, "elu_cuda"),
        (functional.logsigmoid, "log_sigmoid_forward_cuda"),
        (lambda x: x.softmax(1), "host_softmax"),
        (lambda x: x.log_softmax(1), "host_softmax"),
        (lambda x: functional.adaptive_avg_pool2d(x[None], 2), "adaptive_avg_pool2d_cuda"),
        (lambda x: functional.adaptive_max_pool2d(x[None], 2), "adaptive_max_pool2d_cuda"),
        (lambda x: functional.interpolate(x[None], 4, mode="linear"), "upsample_linear1d_out_frame"),
        (lambda x: functional.interpolate(x[None, None], 4, mode="nearest"), "upsample_nearest2d_out_frame"),
        (
            lambda x: functional.grid_sample(x[None, None], x[:2].view(1, 2, 2, 2), align_corners=False),
            "grid_sampler_2d_cuda",
        ),
        (lambda x: functional.batch_norm(x, None, None, training=True), "batch_norm_stats_cuda"),
        (lambda x: functional.prelu(x, x[0, :1]), "prelu_cuda"),
    ],
)
def test_a_kernel_has_the_name_that_it_has_on_cuda(call: Callable[[torch.Tensor], object], kernel: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^\"{kernel}\" not implemented for 'Long'$"):
        call(on_gpu(4, 4, dtype=torch.long))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: torch.bernoulli(table().long()), "expected probabilities tensor to have floating type, got Long"),
        (
            lambda: table().bernoulli_(table().long()),
            "expected probabilities tensor to have floating type, got Long",
        ),
        (
            lambda: table().cfloat().bernoulli_(table()),
            "\"bernoulli_tensor_cuda_self_\" not implemented for 'ComplexFloat'",
        ),
        (
            lambda: functional.embedding_bag(index(0, 2, 2), table().bool()),
            "\"embedding_bag_cuda\" not implemented for 'Bool'",
        ),
        (
            lambda: functional.embedding_bag(
                index(0, 2, 2), table(), mode="sum", per_sample_weights=on_gpu(2, 2, dtype=torch.half)
            ),
            "expected scalar type Float but found Half",
        ),
        (
            lambda: torch.stft(on_gpu(64, dtype=torch.bfloat16), 16, return_complex=True),
            "cuFFT doesn't support tensor of type: BFloat16",
        ),
        (
            lambda: table().cfloat().scatter_reduce(0, index(0, 1, 3), table().cfloat(), "amax"),
            "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'",
        ),
    ],
)
def test_no_sentence_is_the_hosts(call: Call, words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{re.escape(words)}$"):
        call()


LAST = torch.channels_last
BACKWARD: list[tuple[Callable[[torch.Tensor], object], str]] = [
    (lambda x: aten._adaptive_avg_pool2d_backward(x[..., :2, :2], x), "adaptive_avg_pool2d_backward_cuda"),
    (
        lambda x: aten._adaptive_avg_pool2d_backward(*[t.contiguous(memory_format=LAST) for t in (x[..., :2, :2], x)]),
        "adaptive_avg_pool2d_backward_nhwc_cuda",
    ),
    (lambda x: aten.adaptive_max_pool2d_backward(x, x, x), "adaptive_max_pool2d_backward_cuda"),
    (lambda x: aten._softmax_backward_data(x, x, 1, torch.long), "host_softmax_backward"),
    (lambda x: aten._log_softmax_backward_data(x, x, 3, torch.long), "host_softmax_backward"),
    (
        lambda x: aten.upsample_bilinear2d_backward(x, [4, 4], [1, 2, 2, 2], False),
        "upsample_bilinear2d_backward_out_frame",
    ),
    (lambda x: aten.upsample_nearest2d_backward(x, [4, 4], [1, 2, 2, 2]), "upsample_nearest2d_backward_out_frame"),
    (
        lambda x: aten._upsample_nearest_exact2d_backward(x, [4, 4], [1, 2, 2, 2]),
        "upsample_nearest2d_backward_out_frame",
    ),
    (
        lambda x: aten._upsample_bilinear2d_aa_backward(x, [4, 4], [1, 2, 2, 2], False),
        "upsample_gen2d_backward_out_frame",
    ),
    (lambda x: aten.hardsigmoid_backward(x, x), "hardsigmoid_backward_cuda"),
    (lambda x: aten.gelu_backward(x, x), "GeluBackwardCUDAKernelImpl"),
    (lambda x: aten.logit_backward(x, x), "logit_cuda"),
    (lambda x: aten.binary_cross_entropy_backward(x, x, x), "binary_cross_entropy_backward_out_cuda"),
    (lambda x: aten.huber_loss_backward(x, x, x, 1, 1.0), "huber_backward_cuda"),
    (
        lambda x: aten.multi_margin_loss_backward(x[0, 0, 0, 0], x[0, 0], x[0, 0, 0], 1, 1, None, 1),
        "multi_margin_loss_backward_cuda",
    ),
    (
        lambda x: aten.multilabel_margin_loss_backward(x[0, 0, 0, 0], *[x[0, 0]] * 2, 1, x[0, 0]),
        "multilabel_margin_loss_backward_kernel",
    ),
    (lambda x: aten._pdist_backward(x[0, 0, 0], x[0, 0], 1.0, x[0, 0, 0]), "pdist_cuda_backward"),
]


@pytest.mark.parametrize("call, kernel", BACKWARD, ids=[kernel for _, kernel in BACKWARD])
def test_a_kernel_of_a_backward_pass_too(call: Callable[[torch.Tensor], object], kernel: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^\"{kernel}\" not implemented for 'Long'$"):
        call(on_gpu(1, 2, 4, 4, dtype=torch.long))


def ctc(targets: int = 4, longest: int = 2, steps: int = 5) -> torch.Tensor:
    scores = on_gpu(5, 2, 4).log_softmax(2)
    return functional.ctc_loss(scores, index(1, targets), (steps, steps), (2, longest))


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: on_gpu(2, 2) @ on_gpu(2, 2, dtype=torch.half),
            "expected mat1 and mat2 to have the same dtype, but got:",
        ),
        (lambda: on_gpu(2, dtype=torch.cfloat).sort(), "Sort currently does not support complex dtypes on CUDA.$"),
        (lambda: ctc(targets=3), r"Expected tensor to have size 4 .* \(while checking arguments for ctc_loss_gpu\)$"),
        (lambda: ctc(longest=-1), r"Expected target_lengths .* \(while checking arguments for ctc_loss_gpu\)$"),
        (lambda: ctc(steps=9), r"Expected input_lengths .* \(while checking arguments for ctc_loss_gpu\)$"),
    ],
)
def test_a_sentence_is_that_of_cuda(call: Call, words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{words}"):
        call()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: torch.linalg.svd(on_gpu(2, 2, dtype=torch.long)), "linalg.svd: Expected a floating point or complex"),
        (lambda: torch.linalg.slogdet(on_gpu(2, 2, dtype=torch.half)), "linalg.slogdet: Low precision dtypes not"),
        (lambda: torch.cdist(*[on_gpu(2, 2, dtype=torch.long)] * 2), "cdist only supports floating-point dtypes"),
        (lambda: on_gpu(2, 3, dtype=torch.long) @ on_gpu(2, 3, dtype=torch.long), "mat1 and mat2 shapes cannot be"),
    ],
)
def test_what_is_checked_before_the_kernel_is_said_first(call: Call, words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{words}"):
        call()


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: functional.embedding(index(FAR), table()), "index 9 is out of bounds for dimension 0 with size 4"),
        (lambda: functional.embedding(index(FAR, 2, 2).int().t(), table()), "index 9 is out of bounds"),
        (lambda: functional.embedding(index(FAR), table(), max_norm=1.0), "index 9 out of range for tensor of size"),
        (lambda: functional.embedding_bag(index(FAR, 2, 2), table()), ""),
        (lambda: table().index_select(-1, index(FAR)), "index 9 is out of bounds for dimension 1 with size 3"),
        (lambda: table()[index(FAR)], "index 9 is out of bounds for dimension 0 with size 4"),
        (lambda: table()[index(NEGATIVE)], "index -9 is out of bounds for dimension 0 with size 4"),
        (lambda: table().index_put_((index(FAR),), on_gpu(3)), "index 9 is out of bounds"),
        (lambda: table().index_add_(0, index(FAR), on_gpu(2, 3)), "index 9 is out of bounds"),
        (lambda: table().index_copy_(0, index(FAR), on_gpu(2, 3)), "index 9 is out of bounds"),
        (lambda: table().index_fill_(0, index(FAR), 1.0), "index 9 is out of bounds"),
        (lambda: table().gather(0, index(FAR, 2, 3)), "index 9 is out of bounds"),
        (lambda: table().scatter_(0, index(FAR, 2, 3), 1.0), "index 9 is out of bounds"),
        (lambda: table().scatter_add_(0, index(FAR, 2, 3), on_gpu(2, 3)), "index 9 is out of bounds"),
        (lambda: table().take(index(99)), "tried to access index 99"),
        (lambda: functional.cross_entropy(on_gpu(2, 3), index(FAR)), "Target 9 is out of bounds."),
        (lambda: functional.nll_loss(on_gpu(2, 3, 4, 4), index(FAR, 2, 4, 4)), "Target 9 is out of bounds."),
        (lambda: functional.one_hot(index(FAR), 3), "index 9 is out of bounds for dimension 1 with size 3"),
        (lambda: functional.multi_margin_loss(on_gpu(2, 3), index(FAR)), "target out of range"),
        (lambda: functional.binary_cross_entropy(on_gpu(2) * 2, on_gpu(2)), "should be between 0 and 1"),
        (lambda: torch.bernoulli(on_gpu(2) * 2), "p_in >= 0 && p_in <= 1"),
        (lambda: torch._assert_async(index(0, 1)), "nonzero value"),
    ],
)
def test_an_assertion_of_a_kernel_names_what_is_out_of_range(call: Call, named: str) -> None:
    with pytest.raises(torch.AcceleratorError, match=r"^CUDA error: device-side assert triggered\n") as raised:
        call()
    assert named in str(raised.value)
    assert "TORCH_USE_CUDA_DSA" in str(raised.value)
    assert not isinstance(raised.value, IndexError)


def test_what_cuda_compares_on_the_host_is_an_index_error() -> None:
    with pytest.raises(IndexError, match=r"^index 9 is out of bounds for dimension 0 with size 4$"):
        table().index_put_((index(FAR),), on_gpu(3), accumulate=True)
    with pytest.raises(IndexError, match=r"^index 9 is out of bounds for dimension 0"):
        table()[FAR]


def test_the_host_keeps_its_own_words() -> None:
    with pytest.raises(IndexError, match=r"^index out of range in self$"):
        functional.embedding(torch.tensor([9]), torch.ones(4, 3))
    with pytest.raises(NotImplementedError, match=re.escape("\"silu_cpu\" not implemented for 'Long'")):
        functional.silu(torch.ones(2, dtype=torch.long))


@pytest.mark.parametrize(
    "values, parameters, words",
    [
        (torch.half, torch.half, ""),
        (torch.half, torch.float, ""),
        (torch.bfloat16, torch.float, ""),
        (
            torch.float,
            torch.half,
            "Expected tensor for argument #1 'input' to have the same type as tensor for argument",
        ),
        (torch.double, torch.float, "Expected tensor for argument #1 'input' to have the same type as tensor for"),
        (torch.half, torch.double, "expected scalar type Float but found Double"),
        (torch.float, torch.bfloat16, "expected scalar type Float but found BFloat16"),
        (torch.bfloat16, torch.half, "expected scalar type Float but found Half"),
    ],
)
def test_batch_norm_takes_parameters_of_two_types(values: torch.dtype, parameters: torch.dtype, words: str) -> None:
    parts = [on_gpu(4, dtype=parameters) for _ in range(4)]

    def normalize() -> torch.Tensor:
        return functional.batch_norm(on_gpu(2, 4, 3, dtype=values), *parts, training=True)

    if not words:
        assert normalize().dtype == values
        return
    with pytest.raises(RuntimeError, match=f"^{words}"):
        normalize()
