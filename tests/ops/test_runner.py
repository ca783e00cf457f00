"""`make ops` sees what it is there to see: each kind of difference is found, and known.toml cannot go stale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from conformance.comparison import Comparison
from conformance.judging import limited
from conformance.kinds import KINDS
from conformance.known import Entry, Known
from conformance.outcome import Outcome, evaluate
from conformance.placing import Placer, tensors
from conformance.report import Report, Totals
from conformance.samples import Sample, Subject, subjects
from torch.testing._internal.common_methods_invocations import op_db

CPU, GPU = torch.device("cpu"), torch.device("cuda:1")


def outcome(call: Callable[[Any], Any], device: torch.device, tree: Any, order: int = 0) -> Outcome:
    return evaluate(call, Placer(device).tree(tree), order)


def differences(on_cpu: Callable[[Any], Any], on_gpu: Callable[[Any], Any], tree: Any, **options: Any) -> list[str]:
    options = {"random": False, "close": False, "order": 0, **options}
    order = options.pop("order")
    return list(
        Comparison(outcome(on_cpu, CPU, tree, order), outcome(on_gpu, GPU, tree, order), GPU, **options).differences()
    )


def tree() -> Any:
    return torch.arange(6.0).view(2, 3), torch.ones(3)


@pytest.mark.parametrize(
    ("on_cpu", "on_gpu", "found"),
    [
        pytest.param(lambda t: t[0] + 1, lambda t: t[0] + 1.0001, "result 0: values: expected", id="values"),
        pytest.param(lambda t: t[0] + 1, lambda t: (t[0] + 1).to("cuda:0"), "result 0: device: expected", id="device"),
        pytest.param(lambda t: t[0] + 1, lambda t: (t[0] + 1).double(), "result 0: dtype: expected", id="dtype"),
        pytest.param(lambda t: t[0] + 1, lambda t: (t[0] + 1).sum(0), "result 0: shape: expected", id="shape"),
        pytest.param(lambda t: t[0].t() + 1, lambda t: (t[0].t() + 1).contiguous(), "result 0: strides", id="strides"),
        pytest.param(lambda t: t[0].t(), lambda t: t[0].clone().t(), "aliases: expected", id="a copy for a view"),
        pytest.param(
            lambda t: t[0].add_(1), lambda t: t[0] + 1, "aliases: expected", id="a new tensor for the operand"
        ),
        pytest.param(
            lambda t: t[0] + 1, lambda t: t[0].add_(1).sub(0), "operand 0 afterwards: values", id="a written operand"
        ),
        pytest.param(lambda t: t[0].add_(1), lambda t: t[0].add_(0).add_(1), "versions: expected", id="versions"),
        pytest.param(lambda t: t[0] + 1, lambda t: [][1], "error: expected none, got IndexError", id="an error"),
        pytest.param(lambda t: [][1], lambda t: t[0], "error: expected IndexError", id="no error"),
        pytest.param(lambda t: 1, lambda t: 2, "result 0: expected 1, got 2", id="a number"),
        pytest.param(lambda t: t[0], lambda t: [t[0], t[0]], "result: expected 1 values, got 2", id="how many"),
    ],
)
def test_a_difference_is_found(on_cpu: Callable[[Any], Any], on_gpu: Callable[[Any], Any], found: str) -> None:
    assert any(difference.startswith(found) for difference in differences(on_cpu, on_gpu, tree()))
    assert differences(on_cpu, on_cpu, tree()) == []


def test_gradients_are_compared() -> None:
    given = torch.arange(3.0, requires_grad=True)
    assert differences(lambda t: t.pow(2), lambda t: t.pow(2), given, order=2) == []
    (found,) = differences(lambda t: t.pow(2), lambda t: t.pow(2) + t - t.detach(), given, order=1)
    assert found.startswith("gradient 0: values: expected")


def test_a_copy_shares_what_the_original_shares() -> None:
    base = torch.arange(8.0)
    placed = Placer(GPU).tree((base[1::2], base, base, base.view(2, 4).t(), torch.ones(1).expand(3)))
    assert placed[1] is placed[2]
    assert placed[0].data_ptr() == placed[1].data_ptr() + 4
    assert [t.stride() for t in placed] == [(2,), (1,), (1,), (1, 4), (0,)]
    assert {t.device for t in placed} == {GPU}


@pytest.mark.parametrize("kind", ["alone", "unasked"])
def test_each_operand_is_differentiated_by_itself(kind: str) -> None:
    info = next(op for op in op_db if op.name == "lerp")
    subject = Subject("op_db", "lerp", torch.float32, info)
    values = [torch.rand(3).requires_grad_(kind == "alone") for _ in range(3)]
    sample = Sample((values[0], (values[1],), {"weight": [values[2]]}), lambda tree: tree)
    trials = [trial for one in KINDS if one.name == kind for trial in one.trials(subject, sample)]
    wants = [[leaf.requires_grad for leaf in tensors(trial.sample.tree)] for trial in trials]
    assert wants == [[True, False, False], [False, True, False], [False, False, True]]
    assert [leaf.requires_grad for leaf in values] == [kind == "alone"] * 3


def test_a_cap_leaves_out_no_operand() -> None:
    attention = next(one for one in subjects() if one.name == "nn.functional.scaled_dot_product_attention")
    tried = [trial for kind, _, trial in limited(attention, 0.1) if kind == "backward"]
    assert any("attn_mask" in trial.sample.tree[2] for trial in tried)


def test_a_known_difference_that_is_none_any_more_is_told() -> None:
    known = Known([Entry("op_db/add/*", "why", differs="error*", always=True), Entry("op_db/mul/*", "why")])
    totals = Totals(known)
    totals.add(Report("op_db/add/float32", failing=[("forward", 0, ["error: x"]), ("forward", 1, ["device: y"])]))
    assert (sum(totals.explained.values()), totals.failures) == (1, ["op_db/add/float32, forward, sample 1: device: y"])
    assert known.stale(whole=False) == []
    assert known.stale(whole=True) == ["op_db/mul/* (*): why: no sample fails"]
    totals.add(Report("op_db/add/float64", agreeing=Counter(forward=2)))
    assert known.stale(whole=False) == ["op_db/add/* (*): why: 2 samples agree"]
