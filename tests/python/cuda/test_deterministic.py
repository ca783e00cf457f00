"""``torch.use_deterministic_algorithms``: what CUDA's kernels refuse is refused, also where the CPU's would not."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("four_gpus")


@pytest.fixture(autouse=True)
def _deterministic(four_gpus):
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def _backward(function, *shape):
    function(torch.rand(shape, device="cuda:1", requires_grad=True)).sum().backward()


ALERTS = {
    "avg_pool3d_backward_cuda": lambda: _backward(lambda x: functional.avg_pool3d(x, 2), 1, 2, 4, 4, 4),
    "adaptive_avg_pool2d_backward_cuda": lambda: _backward(lambda x: functional.adaptive_avg_pool2d(x, 2), 1, 2, 5, 5),
    "upsample_bilinear2d_backward_out_cuda": lambda: _backward(
        lambda x: torch._C._nn.upsample_bilinear2d(x, [6, 6], False), 1, 2, 3, 3
    ),
    "reflection_pad1d_backward_out_cuda": lambda: _backward(lambda x: functional.pad(x, (1, 1), "reflect"), 1, 2, 4),
    "grid_sampler_2d_backward_cuda": lambda: _backward(
        lambda x: functional.grid_sample(x, torch.rand(1, 2, 2, 2, device="cuda:1"), align_corners=False), 1, 2, 3, 3
    ),
    "median CUDA with indices output": lambda: torch.rand(4, device="cuda:1").median(dim=0),
    "_histc_cuda with floating point input": lambda: torch.rand(4, device="cuda:1").histc(2),
    "_bincount_cuda": lambda: torch.tensor([0, 1], device="cuda:1").bincount(torch.rand(2, device="cuda:1")),
    "put_": lambda: torch.rand(4, device="cuda:1").put_(
        torch.tensor([0], device="cuda:1"), torch.rand(1, device="cuda:1"), accumulate=True
    ),
    "nll_loss2d_forward_out_cuda_template": lambda: functional.nll_loss(
        torch.rand(1, 2, 3, 3, device="cuda:1"), torch.zeros(1, 3, 3, dtype=torch.long, device="cuda:1")
    ),
    "scatter_reduce_cuda_prod_": lambda: torch.rand(4, device="cuda:1").scatter_reduce(
        0, torch.tensor([0], device="cuda:1"), torch.rand(1, device="cuda:1"), "prod"
    ),
}


@pytest.mark.parametrize("caller", ALERTS)
def test_an_operator_that_cuda_computes_in_any_order_is_refused(caller):
    with pytest.raises(RuntimeError) as caught:
        ALERTS[caller]()
    assert str(caught.value).startswith(f"{caller} does not have a deterministic implementation")


@pytest.mark.parametrize("caller", ALERTS)
def test_it_runs_when_only_warnings_are_asked_for(caller):
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match="does not have a deterministic implementation"):
        ALERTS[caller]()


def test_what_is_deterministic_after_all_runs():
    torch.tensor([0, 1, 1], device="cuda:1").bincount()
    torch.rand(4, device="cuda:1").median()
    loss = functional.nll_loss(
        torch.rand(1, 2, 3, 3, device="cuda:1"),
        torch.zeros(1, 3, 3, dtype=torch.long, device="cuda:1"),
        reduction="none",
    )
    assert loss.shape == (1, 3, 3)


def test_memory_that_nobody_has_written_is_filled():
    assert torch.empty(3, device="cuda:1").isnan().all()
    assert torch.empty_strided((2, 2), (1, 2), device="cuda:1").isnan().all()
    assert torch.empty(3, dtype=torch.int16, device="cuda:1").eq(torch.iinfo(torch.int16).max).all()
