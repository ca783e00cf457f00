"""Arguments of torch.linalg that CUDA and the CPU take differently: drivers, and an LU without pivoting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

GPU = torch.device("cuda:1")


def matrix(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Far enough from singular to be factored without pivoting."""
    torch.manual_seed(0)
    return torch.rand(shape, dtype=dtype) + 4 * torch.eye(*shape[-2:], dtype=dtype)


@pytest.mark.parametrize("driver", [None, "gesvd", "gesvdj", "gesvda"])
def test_svd_takes_the_drivers_of_cusolver(driver: str | None) -> None:
    given = matrix(2, 4, 3)
    leaf = given.to(GPU).requires_grad_()
    for ours, theirs in zip(torch.linalg.svd(leaf, driver=driver), torch.linalg.svd(given), strict=True):
        assert torch.equal(ours.detach().cpu(), theirs)
    out = torch.empty(0, dtype=given.dtype, device=GPU)
    assert torch.linalg.svdvals(given.to(GPU), driver=driver, out=out) is out
    assert torch.equal(out.cpu(), torch.linalg.svdvals(given))
    torch.linalg.svdvals(leaf, driver=driver).sum().backward()
    assert leaf.grad.device == GPU


def test_svd_refuses_other_drivers_as_cusolver_does() -> None:
    words = r"^torch\.linalg\.svd: unknown svd driver gesdd in svd_cusolver computation\. Check doc at https://pytorch"
    for call in (torch.linalg.svd, torch.linalg.svdvals):
        with pytest.raises(RuntimeError, match=words):
            call(matrix(3, 3).to(GPU), driver="gesdd")
        with pytest.raises(RuntimeError, match="only supported on CUDA inputs with cuSOLVER"):
            call(matrix(3, 3), driver="gesvd")


def test_lstsq_has_one_driver_and_it_is_the_default() -> None:
    left, right = matrix(5, 3), matrix(5, 2)
    expected = torch.linalg.lstsq(left, right, driver="gels")
    for options in ({}, {"driver": "gels"}, {"driver": "GELS"}):
        for ours, theirs in zip(torch.linalg.lstsq(left.to(GPU), right.to(GPU), **options), expected, strict=True):
            assert ours.shape == theirs.shape
            torch.testing.assert_close(ours.cpu(), theirs)
    assert expected.residuals.numel() == 2 and expected.rank.numel() == 0
    for driver in ("gelsy", "gelsd", "gelss", "other"):
        with pytest.raises(RuntimeError, match=r"^torch\.linalg\.lstsq: `driver` other than `gels` is not"):
            torch.linalg.lstsq(left.to(GPU), right.to(GPU), driver=driver)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 5), (0, 3), (2, 0, 0), (0, 3, 3)])
def test_lu_without_pivoting(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    given = matrix(*shape, dtype=dtype)
    permutation, lower, upper = torch.linalg.lu(given.to(GPU), pivot=False)
    pivoted = torch.linalg.lu(given)
    assert (permutation.numel(), lower.device, upper.device) == (0, GPU, GPU)
    assert [one.shape for one in (lower, upper)] == [one.shape for one in pivoted[1:]]
    torch.testing.assert_close((lower @ upper).cpu(), given)
    assert torch.equal(lower.tril(), lower) and torch.equal(upper.triu(), upper)
    factors, pivots, info = torch.linalg.lu_factor_ex(given.to(GPU), pivot=False)
    theirs = torch.linalg.lu_factor_ex(given)
    assert (factors.stride(), pivots.dtype, pivots.shape) == (theirs.LU.stride(), torch.int32, theirs.pivots.shape)
    assert torch.equal(pivots.cpu(), torch.arange(1, min(shape[-2:]) + 1, dtype=torch.int32).expand(pivots.shape))
    assert info.shape == theirs.info.shape and not info.any()


def test_lu_without_pivoting_is_solved_with_differentiated_and_written() -> None:
    given, right = matrix(3, 3).to(GPU).requires_grad_(), matrix(3, 2).to(GPU)
    solution = torch.linalg.lu_solve(*torch.linalg.lu_factor(given, pivot=False), right)
    torch.testing.assert_close(given @ solution, right)
    assert torch.autograd.gradcheck(lambda a: torch.linalg.lu(a, pivot=False)[1:], given)
    out = [torch.empty(0, dtype=dtype, device=GPU) for dtype in (torch.float64, torch.int32, torch.int32)]
    written = torch.linalg.lu_factor_ex(given.detach(), pivot=False, out=out)
    assert all(one is two for one, two in zip(written, out, strict=True))
    assert out[0].stride() == (1, 3)


def test_a_zero_pivot_is_told() -> None:
    singular = torch.tensor([[0.0, 1.0], [1.0, 0.0]], device=GPU)
    assert torch.linalg.lu_factor_ex(singular, pivot=False).info.item() == 1
    with pytest.raises(RuntimeError, match=r"^torch\.linalg\.lu_factor: U\[1,1\] is zero"):
        torch.linalg.lu_factor(singular, pivot=False)
    torch.linalg.lu_factor(singular)


def complex_numbers() -> torch.Tensor:
    return torch.ones(3, dtype=torch.complex64, device=GPU)


# What the CPU's library refuses for being on the CPU, and a call that would meet the refusal; None: no operator's.
REFUSALS: dict[str, Callable[[], object] | None] = {
    "\". View operators don't support falling back to run on the CPU,": None,
    "Pre-allocated output tensors are supported only on CPUs.": None,
    "linalg.lu_factor: LU without pivoting is not implemented on the CPU": lambda: torch.linalg.lu(
        matrix(3, 3).to(GPU), pivot=False
    ),
    "softmax with half to float conversion is not supported on CPU": lambda: torch.softmax(
        torch.ones(3, dtype=torch.float16, device=GPU), 0, dtype=torch.float32
    ),
    "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.": lambda: (
        torch.linalg.svdvals(matrix(3, 3).to(GPU), driver="gesvd")
    ),
    # These GPUs have no float8: test_float8.py multiplies with a scale for each row.
    "Now _scaled_mm only supports per-tensor scaling for CPU backend.": None,
    "nansum on CPU does not support complex inputs": lambda: torch.nansum(complex_numbers()),
}
# CUDA refuses these too, in other words; addmm for its own combinations of sparse layouts.
REFUSED_ON_BOTH = ("Sort does not support complex dtypes", "topk does not support ", "addmm: computation on CPU is not")
PHRASES = (b"on CPU", b"on the CPU", b"for CPU backend", b"on CUDA inputs")


def sentences_of_the_library() -> set[str]:
    """The texts in torch's library for the CPU that have one of the phrases."""
    found, part, rest = set(), 1 << 24, b""
    with (Path(torch.__file__).parent / "lib" / "libtorch_cpu.so").open("rb") as file:
        while chunk := file.read(part):
            text, rest = rest + chunk, chunk[-1000:]
            for phrase in PHRASES:
                at = text.find(phrase)
                while at >= 0:
                    end = text.find(b"\0", at)
                    if end >= 0:
                        found.add(text[text.rfind(b"\0", 0, at) + 1 : end].decode(errors="replace").strip())
                    at = text.find(phrase, at + 1)
    return found


def test_nothing_that_only_the_cpu_refuses_is_refused() -> None:
    said = {one for one in sentences_of_the_library() if "support" in one or "implemented" in one}
    refusals = {one for one in said if not one.startswith(REFUSED_ON_BOTH)}
    assert refusals <= REFUSALS.keys()
    assert len(refusals) > 4
    for sentence in refusals:
        call = REFUSALS[sentence]
        if call is not None:
            call()
