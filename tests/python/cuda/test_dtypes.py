"""Dtypes that the CPU's kernels take, or would take in a wider type, and CUDA's do not: refused in CUDA's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("four_gpus")

Call = Callable[[torch.Tensor], object]


def matrix(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor([[2, 1, 0], [1, 3, 1], [0, 1, 4]], dtype=dtype, device="cuda:1")


def image(dtype: torch.dtype) -> torch.Tensor:
    return matrix(dtype)[None, None]


@pytest.mark.parametrize(
    "call, kernel",
    [
        (lambda x: x @ x, "addmm_cuda"),
        (lambda x: torch.mm(x, x, out=torch.empty_like(x)), "addmm_cuda"),
        (lambda x: torch.addmm(x, x, x), "addmm_cuda"),
        (lambda x: x.clone().addmm_(x, x), "addmm_cuda"),
        (lambda x: functional.linear(x, x), "addmm_cuda"),
        (lambda x: torch.bmm(x[None], x[None]), "baddbmm_cuda"),
        (lambda x: torch.einsum("ij,jk->ik", x, x), "baddbmm_cuda"),
        (lambda x: x @ x[0], "addmv_impl_cuda"),
        (lambda x: x[0] @ x[0], "dot"),
        (lambda x: functional.max_pool2d(x[None], 2), "max_pool2d_with_indices_out_cuda_frame"),
        (lambda x: functional.avg_pool2d(x[None], 2), "avg_pool2d_out_cuda_frame"),
    ],
)
def test_cuda_has_no_product_or_pool_of_integers(call: Call, kernel: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^\"{kernel}\" not implemented for 'Long'$"):
        call(matrix(torch.long))


def test_cudnn_has_no_type_for_them() -> None:
    with pytest.raises(RuntimeError, match=r"^getCudnnDataTypeFromScalarType\(\) not supported for Long$"):
        functional.conv2d(image(torch.long), image(torch.long))


@pytest.mark.parametrize("dtype, name", [(torch.half, "Half"), (torch.bfloat16, "BFloat16")])
@pytest.mark.parametrize(
    "call, kernel",
    [
        (torch.nn.init.orthogonal_, "geqrf_cuda"),
        (torch.linalg.qr, "geqrf_cuda"),
        (torch.linalg.svd, "svd_cuda_gesvdj"),
        (torch.linalg.eigh, "linalg_eigh_cuda"),
        (torch.linalg.cholesky, "cholesky_cusolver"),
        (torch.linalg.det, "lu_factor_cusolver"),
        (lambda x: torch.linalg.solve(x, x), "lu_factor_cusolver"),
        (lambda x: torch.cdist(x, x), "cdist_cuda"),
        (torch.special.bessel_j0, "bessel_j0_cuda"),
        (lambda x: torch.special.zeta(x, 2), "zeta_cuda"),
    ],
)
def test_what_neither_backend_has_in_16_bits_is_not_computed_in_32(
    call: Call, kernel: str, dtype: torch.dtype, name: str
) -> None:
    with pytest.raises(NotImplementedError, match=rf"^\"{kernel}\" not implemented for '{name}'$"):
        call(matrix(dtype))


def test_half_log_probabilities_have_no_ctc_loss() -> None:
    log_probs = torch.zeros(5, 1, 3, dtype=torch.half, device="cuda:1").log_softmax(2)
    targets = torch.ones(1, 2, dtype=torch.long, device="cuda:1")
    with pytest.raises(NotImplementedError, match=r"^\"ctc_loss_cuda\" not implemented for 'Half'$"):
        functional.ctc_loss(log_probs, targets, torch.tensor([5]), torch.tensor([2]))


def test_a_histogram_of_half_has_words_of_its_own() -> None:
    with pytest.raises(RuntimeError, match=r"^HalfTensor is not supported$"):
        torch.histc(matrix(torch.half))
    with pytest.raises(NotImplementedError, match=r"^\"histc\" not implemented for 'BFloat16'$"):
        torch.histc(matrix(torch.bfloat16))
    assert torch.histc(matrix(torch.long), 5, 0, 5).sum() == 9


def test_images_of_bytes() -> None:
    picture = image(torch.uint8)
    with pytest.raises(NotImplementedError, match=r"^\"upsample_bilinear2d_out_frame\" not implemented for 'Byte'$"):
        functional.interpolate(picture, (6, 6), mode="bilinear")
    assert torch.equal(functional.interpolate(picture, (3, 3), mode="bilinear"), picture)  # a copy
    assert functional.interpolate(picture, (6, 6), mode="nearest").dtype == torch.uint8


@pytest.mark.skipif(torch.__version__ >= (2, 15), reason="the kernel of torch 2.15 takes complex numbers")
def test_dropout_of_complex_numbers_drops_nothing_in_evaluation() -> None:
    values = torch.ones(4, dtype=torch.complex64, device="cuda:1")
    with pytest.raises(NotImplementedError, match=r"^\"fused_dropout\" not implemented for 'ComplexFloat'$"):
        functional.dropout(values)
    assert torch.equal(functional.dropout(values, training=False), values)


@pytest.mark.parametrize("dtype, name", [(torch.half, "Half"), (torch.bfloat16, "BFloat16")])
@pytest.mark.skipif(torch.__version__ >= (2, 14), reason="not known of torch 2.14 and later")
def test_norms_have_one_dtype(dtype: torch.dtype, name: str) -> None:
    values = image(dtype)
    weight, bias = torch.ones(3, device="cuda:1"), torch.zeros(3, device="cuda:1")
    words = f"^expected scalar type {name} but found Float$"
    with pytest.raises(RuntimeError, match=words):
        functional.layer_norm(values, (3,), weight, bias)
    with pytest.raises(RuntimeError, match=words):
        functional.group_norm(values, 1, weight[:1], bias[:1])
    with pytest.raises(RuntimeError, match=words):
        functional.layer_norm(values, (3,), None, bias)
    assert functional.layer_norm(values, (3,), weight.to(dtype), bias.to(dtype)).dtype == dtype
    assert functional.layer_norm(values, (3,)).dtype == dtype
    with torch.autocast("cuda", dtype=dtype):
        assert functional.layer_norm(values, (3,), weight, bias).dtype == torch.float32


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: x[:0] @ x, id="no elements"),
        pytest.param(lambda x: x.float() @ x.float(), id="float"),
        pytest.param(lambda x: x * x, id="elementwise"),
        pytest.param(lambda x: torch.special.bessel_j0(x), id="promoted"),
        pytest.param(lambda x: torch.special.zeta(x.half(), x.float()), id="promoted by the other operand"),
        pytest.param(lambda x: torch.cdist(x.half().repeat(9, 1), x.half()), id="distances by a product"),
        pytest.param(lambda x: torch.linalg.matrix_exp(x.half()), id="by products"),
        pytest.param(lambda x: x.half() @ x.half(), id="half"),
        pytest.param(lambda x: x.to_sparse().float() @ x.float(), id="sparse"),
    ],
)
def test_what_cuda_takes_runs(call: Call) -> None:
    call(matrix(torch.long))


def test_autocast_changes_the_type_before_it_is_looked_at() -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        half = matrix(torch.half)
        assert torch.cdist(half, half).dtype == torch.float32
        assert (half @ half).dtype == torch.bfloat16
