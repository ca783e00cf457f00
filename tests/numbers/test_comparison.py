"""Whether two runs computed the same: what is equal, what differs, what cannot be said."""

from __future__ import annotations

import math

import pytest
import torch
from observed import LOSS, event, run

import devsan
from devsan.numbers.comparison import compare, read_events
from devsan.numbers.digest import SMALL, digest


def test_equal_runs_are_equal_and_are_counted():
    found = compare(
        run(LOSS, event("gradients", torch.ones(3), None)), run(LOSS, event("gradients", torch.ones(3), None))
    )
    assert found.equal and found.compared == {"loss": 1, "gradients": 1}


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (run(event("loss", torch.tensor(1.001))), "loss 1: expected 1, got 1.001"),
        (run(event("loss", torch.tensor(1.0, dtype=torch.float64))), "expected float32[], got float64[]"),
        (run(LOSS, LOSS), "loss: expected 1 time, got 2"),
        (run(), "loss: expected 1 time, got 0"),
        (run(event("loss", None)), "expected a tensor"),
        (run(event("loss", torch.tensor(float("nan")))), "expected 1, got nan"),
        (run(LOSS, process="rank1"), "rank0 computed nothing"),
        ({"rank0": [LOSS, {"kind": "end", "events": 2001}]}, "expected 1 results, got 2001"),
    ],
)
def test_what_differs(other, difference):
    found = compare(run(LOSS), other)
    assert not found.equal and difference in found.difference


def test_facts_are_compared():
    one, other = (run(event("output", torch.ones(1), facts=facts)) for facts in ([3, True], [0, True]))
    assert "the training modes of modules" in compare(one, other).difference


def test_the_order_of_sums_may_differ():
    values = torch.rand(1000)
    assert compare(run(event("loss", values)), run(event("loss", values * (1 + 1e-6)))).equal


def test_more_names_at_the_end_are_no_difference_fewer_are():
    one, both = torch.ones(1), event("state", torch.ones(1), torch.ones(2), names=["a", "b"])
    assert compare(run(event("state", one, names=["a"])), run(both)).equal
    assert (
        compare(run(both), run(event("state", one, names=["a"]))).difference
        == "expected a tensor b at the end, got none"
    )


def test_what_a_librarys_object_holds_may_be_elsewhere_but_not_another():
    one, other = torch.ones(1), torch.zeros(1)
    held = run(event("state", one, torch.ones(2), names=["a", "loader.data[0]"], facts=["loader.data[0]"]))
    assert compare(held, run(event("state", one, names=["a"]))).equal
    assert not compare(held, run(event("state", one, other, names=["a", "loader.data[0]"]))).equal


def test_nothing_that_was_observed_proves_nothing():
    assert "no loss, gradient or output" in compare(run(), run()).impossible


@pytest.mark.parametrize("shape", [(SMALL,), (SMALL + 1,), (40, 50)])
def test_a_value_that_moves_to_another_place_changes_the_digest(shape):
    values = torch.linspace(0, 1, math.prod(shape)).view(shape)
    swapped = values.flatten().clone()
    swapped[[0, -1]] = swapped[[-1, 0]]
    assert compare(run(event("loss", values)), run(event("loss", swapped.view(shape)))).difference


def test_a_tensor_on_a_gpu_is_read_where_it_lies():
    values = torch.arange(100.0).view(10, 10)
    with devsan.emulate(gpus=1):
        for make in (lambda t: t, lambda t: t.t(), lambda t: t[2:, ::3], lambda t: torch.complex(t, t).conj()):
            there = make(values.to("cuda"))
            before = torch.cuda.memory_stats()["allocation.all.allocated"]
            assert digest(there) == digest(make(values))
            assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


def test_what_has_no_values_has_no_digest():
    assert digest(torch.empty(2, device="meta")) is None
    assert digest(torch.eye(2).to_sparse()) is None
    assert digest(torch.empty(0)) == {"shape": [0], "dtype": "float32", "exact": False, "whole": True, "values": []}


def test_a_line_that_is_cut_off_is_not_there(tmp_path):
    (tmp_path / "rank0.jsonl").write_text('{"kind": "loss", "tensors": []}\n{"kind": "gr', encoding="utf-8")
    assert read_events(tmp_path) == {"rank0": [{"kind": "loss", "tensors": []}]}


def test_a_loss_near_zero_keeps_the_rounding_of_its_steps():
    first, second = (
        run(event("loss", torch.tensor(1.0)), event("loss", torch.tensor(last))) for last in (2e-4, 2.0005e-4)
    )
    assert compare(first, second).equal
    alone = [run(event("loss", torch.tensor(last))) for last in (2e-4, 2.0005e-4)]
    assert not compare(*alone).equal
    far = run(event("loss", torch.tensor(1.0)), event("loss", torch.tensor(3e-4)))
    assert not compare(first, far).equal
    values = [run(event("value", torch.tensor(1.0)), event("value", torch.tensor(last))) for last in (2e-4, 2.0005e-4)]
    assert not compare(*values).equal, "values are of different things"


def test_leaves_of_a_graph_may_come_in_another_order():
    one, other = torch.ones(2), torch.zeros(3)
    found = compare(run(LOSS, event("gradients", one, other)), run(LOSS, event("gradients", other, one)))
    assert found.equal and found.compared == {"loss": 1, "gradients": 2}
    differs = compare(run(LOSS, event("gradients", one, other)), run(LOSS, event("gradients", other, one * 2)))
    assert differs.difference.startswith("gradients 1: tensor 0: ")
    ordered = compare(run(LOSS, event("steps", one, other)), run(LOSS, event("steps", other, one)))
    assert ordered.difference.startswith("gradients of a step 1: tensor 0: ")
