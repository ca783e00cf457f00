"""Kinds of tensors beside the dense float32 one: sparse, nested, narrow, conjugate, empty, made in inference mode."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch

GPU = torch.device("cuda:1")
DENSE = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc])
def test_a_sparse_tensor_is_on_the_gpu_with_its_members(convert: Callable[[torch.Tensor], torch.Tensor]) -> None:
    for made in (convert(DENSE.to(GPU)), convert(DENSE).to(GPU)):
        assert made.device == made.values().device if made.layout != torch.sparse_coo else made._values().device == GPU
        assert made.layout == convert(DENSE).layout
        assert torch.equal(made.to_dense().cpu(), DENSE)
        assert torch.equal(made.cpu().to_dense(), DENSE)
        assert made.to("cuda:2").device == torch.device("cuda:2")
        assert made.detach().device == GPU
        assert "device='cuda:1'" in repr(made)


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr])
def test_a_sparse_tensor_multiplies_a_dense_one(convert: Callable[[torch.Tensor], torch.Tensor]) -> None:
    right = torch.arange(6.0).view(3, 2)
    weight = right.to(GPU).requires_grad_()
    product = convert(DENSE.to(GPU)) @ weight
    product.sum().backward()
    assert torch.equal(product.cpu(), DENSE @ right)
    assert torch.equal(weight.grad.cpu(), DENSE.t() @ torch.ones(2, 2))


def test_a_coalesced_tensor_adds_what_has_the_same_place() -> None:
    indices, values = torch.tensor([[1, 1, 0]], device=GPU), torch.tensor([2.0, 3.0, 4.0], device=GPU)
    made = torch.sparse_coo_tensor(indices, values, (3,)).coalesce()
    assert made.is_coalesced()
    assert made.indices().tolist() == [[0, 1]]
    assert made.values().tolist() == [4, 5]
    assert (made * 2).to_dense().tolist() == [8, 10, 0]
    assert torch.zeros(3, device=GPU).add_(made).tolist() == [4, 5, 0]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adagrad])
def test_an_embedding_with_sparse_gradients_trains_as_on_the_cpu(optimizer: type[torch.optim.Optimizer]) -> None:
    trained = []
    for device in ("cpu", GPU):
        torch.manual_seed(0)
        embedding = torch.nn.Embedding(10, 4, sparse=True).to(device)
        steps = optimizer(embedding.parameters(), lr=0.1)  # type: ignore[call-arg]
        for words in ([1, 2, 2], [2, 5]):
            steps.zero_grad()
            embedding(torch.tensor(words, device=device)).pow(2).sum().backward()
            assert embedding.weight.grad.is_sparse
            steps.step()
        trained.append(embedding.weight.detach().cpu())
    assert torch.equal(*trained)


def test_a_sparse_tensor_survives_a_file() -> None:
    file = io.BytesIO()
    torch.save(DENSE.to(GPU).to_sparse(), file)
    for location, device in ((None, GPU), ("cpu", torch.device("cpu")), ("cuda:3", torch.device("cuda:3"))):
        file.seek(0)
        loaded = torch.load(file, map_location=location, weights_only=True)
        assert loaded.device == device
        assert torch.equal(loaded.to_dense().cpu(), DENSE)


def test_nested_tensors() -> None:
    parts = [torch.ones(2, 4), torch.arange(12.0).view(3, 4)]
    made = torch.nested.nested_tensor(parts, device=GPU)
    assert made.device == GPU
    assert torch.nested.nested_tensor(parts).to(GPU).device == GPU
    assert made.cpu().device == torch.device("cpu")
    doubled = torch.nn.functional.linear(made * 2, torch.eye(4, device=GPU))
    assert torch.equal(doubled.unbind()[1].cpu(), parts[1] * 2)
    assert doubled.to_padded_tensor(0.0).shape == (2, 3, 4)
    jagged = torch.nested.nested_tensor(parts, device=GPU, layout=torch.jagged)
    assert torch.equal((jagged * 2).unbind()[1].cpu(), parts[1] * 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: torch.erfinv(x / 8), id="erfinv"),
        pytest.param(lambda x: torch.renorm(x, 2, 0, 1.0), id="renorm"),
        pytest.param(lambda x: torch.logcumsumexp(x, 1), id="logcumsumexp"),
    ],
)
def test_a_narrow_type_that_the_cpu_lacks_is_rounded_from_float32(
    call: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype
) -> None:
    source = torch.linspace(-2, 3, 16).view(4, 4).to(dtype)
    expected = call(source.float()).to(dtype)
    got = call(source.to(GPU))
    assert (got.device, got.dtype) == (GPU, dtype)
    torch.testing.assert_close(got.cpu(), expected)


def test_a_narrow_result_is_written_in_place_and_to_out() -> None:
    source = torch.tensor([0.25, 0.5], dtype=torch.float16, device=GPU)
    expected = torch.erfinv(source.cpu().float()).half()
    out = torch.empty(2, dtype=torch.float16, device=GPU)
    assert torch.special.i1e(source, out=out) is out
    assert torch.equal(out.cpu(), torch.special.i1e(source.cpu().float()).half())
    kept = source.erfinv_()
    assert kept is source
    assert torch.equal(source.cpu(), expected)


def test_conjugate_and_negative_views() -> None:
    value = torch.tensor([1 + 2j, 3 - 1j], device=GPU)
    conjugate = value.conj()
    assert conjugate.is_conj()
    assert conjugate.data_ptr() == value.data_ptr()
    assert torch.equal(conjugate.cpu(), value.cpu().conj())
    assert torch.equal((conjugate * value).real.cpu(), torch.tensor([5.0, 10.0]))
    assert conjugate.imag.is_neg()
    assert conjugate.imag.tolist() == [-2, 1]
    assert torch.zeros(2, dtype=torch.complex64, device=GPU).copy_(conjugate).tolist() == [1 - 2j, 3 + 1j]


def test_tensors_made_in_inference_mode() -> None:
    with torch.inference_mode():
        made = torch.ones(3, 3, device=GPU)
        view = made.view(9)
        view[1:].mul_(2)
        assert made.is_inference()
        assert view.is_inference()
        assert made.sum().item() == 17
        ordinary_view = torch.ones(2, device=GPU, requires_grad=True).detach().view(1, 2)
    assert made.clone().is_inference() is False
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        made * torch.ones(3, 3, device=GPU, requires_grad=True)
    assert ordinary_view.device == GPU


def test_tensors_without_elements() -> None:
    none = torch.empty(0, 3, device=GPU)
    assert none.sum().item() == 0
    assert (none @ torch.ones(3, 2, device=GPU)).shape == (0, 2)
    assert torch.cat([none, torch.ones(1, 3, device=GPU)]).shape == (1, 3)
    assert torch.add(torch.ones(2, device=GPU), 1, out=torch.empty(0, device=GPU)).tolist() == [2, 2]


def test_a_zero_tensor_is_zero() -> None:
    zero = torch._efficientzerotensor((2,), device=GPU)
    assert zero.device == GPU
    assert (zero + torch.ones(2, device=GPU)).tolist() == [1, 1]
    assert zero.cpu().tolist() == [0, 0]


def test_what_cuda_does_not_have_is_refused_in_torchs_words() -> None:
    with pytest.raises(NotImplementedError, match=r"^Could not run 'aten::to_mkldnn' with arguments from the 'CUDA'"):
        DENSE.to(GPU).to_mkldnn()
    with pytest.raises(
        NotImplementedError, match=r"^Could not run 'aten::histogram.bin_ct' with arguments from the 'CUDA'"
    ):
        torch.histogram(DENSE.to(GPU), 4)
