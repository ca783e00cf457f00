"""Quantized tensors, products of few bits, and 2:4 (semi-structured) sparse matrices."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch.sparse import SparseSemiStructuredTensorCUSPARSELT, SparseSemiStructuredTensorCUTLASS

GPU = torch.device("cuda:1")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def per_tensor(values: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(values, 0.1, 3, torch.quint8)


def per_channel(values: torch.Tensor) -> torch.Tensor:
    scales = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, device=values.device)
    return torch.quantize_per_channel(
        values, scales, torch.zeros(3, dtype=torch.int64, device=values.device), 0, torch.qint8
    )


@pytest.mark.parametrize("quantize", [per_tensor, per_channel])
def test_a_quantized_tensor_is_the_cpus(quantize: Callable[[torch.Tensor], torch.Tensor]) -> None:
    values = torch.linspace(-2, 3, 12).view(3, 4)
    host, gpu = quantize(values), quantize(values.to(GPU))
    assert gpu.device == GPU
    assert gpu.is_quantized
    assert gpu.qscheme() == host.qscheme()
    for made in (gpu, host.to(GPU), gpu.clone(), gpu.to("cuda:0").to(GPU)):
        assert made.device == GPU
        assert torch.equal(made.int_repr().cpu(), host.int_repr())
        assert torch.equal(made.dequantize().cpu(), host.dequantize())
    assert torch.equal(gpu.cpu().int_repr(), host.int_repr())
    assert gpu.cpu().device.type == "cpu"
    assert gpu.dequantize().device == GPU
    assert "device='cuda:1'" in repr(gpu)


def test_what_says_how_a_tensor_is_quantized() -> None:
    values = torch.rand(3, 4, device=GPU)
    assert (per_tensor(values).q_scale(), per_tensor(values).q_zero_point()) == (0.1, 3)
    made = per_channel(values)
    assert made.q_per_channel_axis() == 0
    for _ in range(2):  # the quantizer keeps its own
        assert made.q_per_channel_scales().device == GPU
        assert made.q_per_channel_scales().tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert torch.equal(made.dequantize().cpu(), made.cpu().dequantize())


def test_what_cuda_can_do_with_a_quantized_tensor() -> None:
    values = torch.linspace(-2, 3, 12).view(3, 4)
    host, gpu = per_tensor(values), per_tensor(values.to(GPU))
    for call in (
        lambda q: q.relu(),
        lambda q: q.view(4, 3),
        lambda q: q[1:],
        lambda q: q.flip(0),
        lambda q: q.index_select(0, torch.tensor([2, 0], device=q.device)),
        lambda q: q.unsqueeze(0),
        lambda q: q.t(),
        lambda q: torch.nn.functional.gelu(q),
    ):
        assert torch.equal(call(gpu).int_repr().cpu(), call(host).int_repr())
    view = gpu[1:]
    view.fill_(0.0)
    assert torch.equal(gpu.dequantize()[1:].cpu(), torch.zeros(2, 4))
    target = torch._empty_affine_quantized([3, 4], scale=1.0, zero_point=0, dtype=torch.quint8, device=GPU)
    assert target.copy_(gpu).q_scale() == 0.1


@pytest.mark.parametrize("call", [lambda q: torch.cat([q, q]), lambda q: q.sort(), lambda q: q.sigmoid()])
def test_what_cuda_lacks_is_refused(call: Callable[[torch.Tensor], object]) -> None:
    gpu = per_tensor(torch.rand(3, 4, device=GPU))
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::.*' with arguments from the 'QuantizedCUDA'"):
        call(gpu)


@pytest.mark.parametrize("inner_tiles", [2, 4, 8])
def test_weights_of_four_bits(inner_tiles: int) -> None:
    rows, columns, group = 16, 256, 32
    torch.manual_seed(0)
    weights = torch.randint(0, 16, (rows, columns), dtype=torch.int32)
    pairs = (weights[:, ::2] << 4 | weights[:, 1::2]).to(torch.uint8)
    packed = torch._convert_weight_to_int4pack(pairs.to(GPU), inner_tiles)
    assert packed.shape == (rows // 8, columns // (inner_tiles * 16), 32, inner_tiles // 2)
    # The tile's first word: lane 0 holds columns 0, 1, 8, 9, 16, 17, 24, 25 of row 0, even ones in the low half.
    word = packed[0, 0, 0, 0].item() & 0xFFFFFFFF
    expected = [weights[0, c].item() for c in (0, 8, 16, 24, 1, 9, 17, 25)]
    assert [word >> (4 * i) & 0xF for i in range(8)] == expected
    scales = torch.rand(columns // group, rows, 2).to(torch.bfloat16)
    left = torch.randn(4, columns).to(torch.bfloat16)
    got = torch._weight_int4pack_mm(left.to(GPU), packed, group, scales.to(GPU))
    on_cpu = torch._convert_weight_to_int4pack_for_cpu(weights, inner_tiles)
    wanted = torch._weight_int4pack_mm_for_cpu(left, on_cpu, group, scales)
    torch.testing.assert_close(got.cpu(), wanted, atol=0.5, rtol=3e-2)


def test_products_of_eight_bits() -> None:
    left = torch.randint(-9, 9, (32, 16), dtype=torch.int8)
    right = torch.randint(-9, 9, (16, 24), dtype=torch.int8)
    assert torch.equal(torch._int_mm(left.to(GPU), right.to(GPU)).cpu(), left.int() @ right.int())
    floats, scales = torch.randn(8, 16).to(torch.bfloat16), torch.rand(24).to(torch.bfloat16)
    packed = right.t().contiguous()
    got = torch._weight_int8pack_mm(floats.to(GPU), packed.to(GPU), scales.to(GPU))
    torch.testing.assert_close(got.cpu(), torch._weight_int8pack_mm(floats, packed, scales))


def test_products_of_groups() -> None:
    left, right = torch.randn(16, 32).to(torch.bfloat16), torch.randn(2, 32, 16).to(torch.bfloat16)
    ends = torch.tensor([4, 16], dtype=torch.int32)
    got = torch._grouped_mm(left.to(GPU), right.to(GPU), offs=ends.to(GPU))
    wanted = torch.cat([left[:4].float() @ right[0].float(), left[4:].float() @ right[1].float()])
    torch.testing.assert_close(got.cpu().float(), wanted, atol=0.1, rtol=2e-2)


def semi_structured(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """A matrix with a random choice of two values in each group of four (of float32: one in each two)."""
    torch.manual_seed(0)
    size = 2 if dtype == torch.float32 else 4
    values = torch.randint(1, 5, (rows, columns // size, size)).to(torch.float32)
    order = torch.rand(rows, columns // size, size).argsort(-1)
    return torch.where(order < size // 2, values, 0.0).view(rows, columns).to(dtype)


@pytest.mark.parametrize("form", [SparseSemiStructuredTensorCUTLASS, SparseSemiStructuredTensorCUSPARSELT])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8])
def test_a_semi_structured_matrix(form: type, dtype: torch.dtype) -> None:
    if form is SparseSemiStructuredTensorCUSPARSELT and dtype == torch.float32:
        with pytest.raises(RuntimeError, match="is not a supported dtype"):  # torch's own check
            form.from_dense(semi_structured(64, 128, dtype).to(GPU))
        return
    dense = semi_structured(64, 128, dtype)
    sparse = form.from_dense(dense.to(GPU))
    right = torch.randint(0, 2, (128, 64)).to(dtype)
    if dtype == torch.int8:
        right = right.t().contiguous().t()
    wide = torch.int32 if dtype == torch.int8 else torch.float32
    wanted = dense.to(wide) @ right.to(wide)
    if dtype == torch.int8:
        wanted = wanted.clamp(-128, 127)
    got = torch.mm(sparse, right.to(GPU))
    assert got.device == GPU
    torch.testing.assert_close(got.cpu().to(wide), wanted, atol=1.0, rtol=1e-2)


def test_both_ways_to_the_form_of_cutlass_agree() -> None:
    dense = semi_structured(64, 128, torch.float16).to(GPU)
    values, codes = torch._to_sparse_semi_structured(dense)
    reference = torch.sparse._semi_structured_conversions.sparse_semi_structured_from_dense_cutlass(dense)
    assert torch.equal(values, reference[0])
    assert torch.equal(codes, reference[1])


def test_a_linear_layer_with_semi_structured_weights() -> None:
    layer = torch.nn.Linear(128, 64).half().to(GPU)
    dense = semi_structured(64, 128, torch.float16).to(GPU)
    layer.weight = torch.nn.Parameter(torch.sparse.to_sparse_semi_structured(dense))
    inputs = torch.rand(8, 128, device=GPU, dtype=torch.float16)
    with torch.inference_mode():
        got = layer(inputs)
    wanted = torch.nn.functional.linear(inputs.float(), dense.float(), layer.bias.float())
    torch.testing.assert_close(got.float(), wanted, atol=0.5, rtol=1e-2)


def test_products_of_bytes_have_the_sizes_that_cublas_asks_for() -> None:
    def multiply(rows: int, inner: int, columns: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
        return torch._int_mm(
            torch.ones(rows, inner, device=GPU).to(dtype), torch.ones(inner, columns, device=GPU).to(dtype)
        )

    for sizes, words in (
        ((16, 16, 16), "self.size(0) needs to be greater than 16, but got 16"),
        ((32, 12, 16), "self.size(1) needs to be greater than 0 and a multiple of 8, but got 12"),
        ((32, 16, 12), "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got 12"),
    ):
        with pytest.raises(RuntimeError, match=f"^{re.escape(words)}$"):
            multiply(*sizes)
    with pytest.raises(RuntimeError, match=r"^expected scalar type Char but found Byte$"):
        multiply(32, 16, 16, torch.uint8)
    assert multiply(17, 16, 8).eq(16).all()


def test_an_a100_does_not_multiply_float8() -> None:
    matrix, one = torch.ones(32, 32, device=GPU).to(torch.float8_e4m3fn), torch.ones((), device=GPU)
    with pytest.raises(RuntimeError, match=r"^torch\._scaled_mm is only supported on CUDA devices with compute"):
        torch._scaled_mm(matrix, matrix.t(), one, one, out_dtype=torch.bfloat16)
