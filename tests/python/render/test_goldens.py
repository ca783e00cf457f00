"""Each program in programs/ fails on emulated GPUs and gets the report in goldens/ of the same name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = sorted(file.stem for file in (HERE / "programs").glob("*.py"))

NEEDS = {"device_map": "accelerate"}  # an optional library, where a program is about one


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", NAMES)
def test_report(name: str, gpus: None, run: Callable[[str], str], golden: Callable[[str, str], None]) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    golden(name, run(name))


@pytest.mark.long
def test_without_the_means_to_find_expressions(
    gpus: None, run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line and the operands are told all the same."""
    monkeypatch.setitem(sys.modules, "executing", None)
    monkeypatch.setattr("devsan.introspect.frames.frames.node_at", lambda code, offset: None)
    monkeypatch.setattr("devsan.diagnosis.cause.explain", lambda failure: None)
    assert run("loss").splitlines() == [
        "",
        "error: operands of aten::nll_loss_forward are on cuda:3 and cuda:1",
        "  --> programs/loss.py:9",
        "   |",
        " 9 | loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))",
        "   |",
        "   = torch: Expected all tensors to be on the same device, but got target is on cuda:1, different from other "
        "tensors on cuda:3 (when checking argument in method wrapper_CUDA_nll_loss_forward)",
        "",
        "  self    float32[6,8]  on cuda:3",
        "  target  int64[6]      on cuda:1",
    ]


def test_every_golden_has_its_program() -> None:
    goldens = [file.stem for file in (HERE / "goldens").glob("*.txt") if not file.stem.startswith("fix.")]
    assert sorted(name for name in goldens if not name.endswith(".zh")) == NAMES
