"""Which autograd graphs are several passes that one variable keeps."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from devsan.introspect.kept_graphs import saved_by_several_passes  # noqa: E402


@pytest.fixture
def net() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def losses(net: torch.nn.Module, count: int) -> list[torch.Tensor]:
    return [net(torch.ones(4, 8)).mean() for _ in range(count)]


def test_losses_in_a_list_in_a_sum_and_in_an_average(net: torch.nn.Module) -> None:
    average = torch.zeros(())
    for loss in losses(net, 5):
        average = 0.9 * average + 0.1 * loss
    kept = len(saved_by_several_passes(losses(net, 5)))
    assert kept >= 10, "an input and an activation of each pass"
    assert len(saved_by_several_passes([torch.stack(losses(net, 5)).unbind()[0]])) == 0, "one graph is one pass"
    assert len(saved_by_several_passes([sum(losses(net, 5))])) == kept
    assert len(saved_by_several_passes([average])) == kept


def test_a_pair_and_a_single_pass_are_none(net: torch.nn.Module) -> None:
    assert saved_by_several_passes(losses(net, 1)) == []
    assert saved_by_several_passes(losses(net, 2)) == []


def test_nothing_is_kept_after_the_backward_pass(net: torch.nn.Module) -> None:
    kept = losses(net, 5)
    for loss in kept:
        loss.backward()
    assert saved_by_several_passes(kept) == []


def test_layers_of_one_pass_share_a_graph() -> None:
    layer = torch.nn.Linear(8, 8)
    x, skips = torch.ones(4, 8), []
    for _ in range(6):
        x = x + layer(x).relu()
        skips.append(x)
    assert saved_by_several_passes(skips) == []


def test_hooks_of_saved_tensors_do_not_run(net: torch.nn.Module) -> None:
    ran = []
    with torch.autograd.graph.saved_tensors_hooks(lambda each: each, lambda each: ran.append(each) or each):
        kept = losses(net, 5)
    assert saved_by_several_passes(kept) == []
    assert ran == []
