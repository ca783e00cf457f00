"""Operands that an operator writes: given twice, resized, refused; and what a bare "cuda" names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

GPU = torch.device("cuda:1")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: torch.cat((x, x), out=x), id="cat"),
        pytest.param(lambda x: torch.gather(x, 0, torch.tensor([2, 1, 0], device=x.device), out=x), id="gather"),
    ],
)
def test_an_operand_that_is_also_the_result_is_recognized(call: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match=r"^unsupported operation: some elements of the input"):
        call(torch.rand(6, device=GPU))


def test_an_operator_that_is_refused_leaves_the_sizes_that_it_gave() -> None:
    shapes = []
    for device in ("cpu", GPU):
        source, out = torch.ones(6, device=device), torch.zeros(1, device=device).expand(3)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            torch.gather(source, 0, torch.tensor([2, 1, 0], device=device), out=source)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            torch.gather(source, 0, torch.tensor([2, 1, 0], device=device), out=out)
        shapes.append((source.shape, out.shape))
    assert shapes[0] == shapes[1]


def test_an_operand_in_place_is_not_given_another_shape() -> None:
    with pytest.raises(RuntimeError, match=r"^2D tensor expected, got 0D tensor for input"):
        torch.ones((), device=GPU).addr_(torch.ones(3, device=GPU), torch.ones(2, device=GPU))


def test_composites_that_write_reach_the_cpus_kernels() -> None:
    value = torch.tensor([1 + 2j], device=GPU)
    assert value.conj_physical_() is value
    assert value.tolist() == [1 - 2j]
    out = torch.empty(0, device=GPU), torch.empty(0, dtype=torch.long, device=GPU)
    torch.mode(torch.tensor([1.0, 2.0, 2.0], device=GPU), out=out)
    assert out[0].item() == 2


def test_a_bare_cuda_is_the_current_device() -> None:
    assert torch.cuda.current_device() == 0
    source = torch.ones(2, 2, device=GPU)
    for given in (source, source.to_sparse(), source.to_sparse_csr()):
        assert torch.zeros_like(given, device="cuda").device == torch.device("cuda:0")
        assert given.to("cuda").device == torch.device("cuda:0")
        with torch.cuda.device(1):
            assert torch.zeros_like(given, device="cuda").device == GPU


def test_a_sparse_gradient_is_stepped_on() -> None:
    weights = []
    for device in ("cpu", GPU):
        embedding = torch.nn.Embedding(4, 2, sparse=True)
        torch.nn.init.ones_(embedding.weight)
        embedding.to(device)
        optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            embedding(torch.tensor([1, 3, 3], device=device)).sum().backward()
            optimizer.step()
        weights.append(embedding.weight.detach().cpu())
    assert torch.equal(*weights)
