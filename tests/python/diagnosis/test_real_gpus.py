"""On real GPUs nobody kept the operands: the sentence and the frames alone give the same names."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

# what each report must hold when torch's sentence is all there is; its own words for the operation included
EXPECTED = {
    "binary": ["error: operands of aten::mm are on cuda:1 and cpu", "cpu  float32[4,5]  (mat2)"],
    "augmented_subscript": ["error: operands of `+=` are on cuda:1 and cuda:0", "cuda:0  float32[8]"],
    "functional": ["cuda:0  int64[3]  (index)", "cuda:1  float32[5,4]  (weight)"],
    "inside_torch": ["mat1  float32[3,4]  on cuda:1  is attn_output in torch/nn/functional.py"],
    "keywords": ["error: operands of torch.add are on cuda:2 and cuda:0"],
    "library": ["lossy/__init__.py:18:12", "programs/library.py:6:1  called from here", "int64[6]  (target)"],
    "list_variable": ["outs[0]  cuda:0  float32[2]", "outs[2]  cuda:1  float32[2]"],
    "loss": ["cuda:1  int64[6]  (target)", "cuda:3  float32[6,8]  (input)"],
    "method_call": ["error: operands of state.moments[0].add_ are on cuda:0 and cuda:1"],
    "module_weight": ["self.up.weight  cuda:2  float32[8,4]", "is model.layers.1.up.weight"],
    "several_lines": ["cuda:2  (mat2)"],
    "subscript_store": ["error: operands of an index expression are on cuda:1 and cuda:2", "cuda:2  float32[2,4]"],
    "temporaries": ["cuda:1  (mat1)"],
}


def without_code(report: str) -> str:
    """The report as if no cause had been found: here torch's sentence and the names count."""
    return re.sub(r"^error\[DV\d{3}\]", "error", report, flags=re.MULTILINE)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_report(name: str, gpus: None, run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    from devsan import core

    monkeypatch.setattr(core, "refusal_in", lambda text: None)
    report = without_code(run(name))
    for expected in EXPECTED[name]:
        assert expected in report


def test_the_wording_before_torch_2_9(
    gpus: None, run: Callable[[str], str], report_on: Callable[[BaseException], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same program with the older sentence, which names the argument at its end."""
    import torch

    from devsan import core

    monkeypatch.setattr(core, "refusal_in", lambda text: None)

    def refuse(left: torch.Tensor, right: torch.Tensor) -> None:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {left.device} and "
            f"{right.device}! (when checking argument for argument mat2 in method wrapper_CUDA_addmm)"
        )

    try:
        refuse(torch.ones(3, 4, device="cuda:1"), torch.ones(4, 5))
    except RuntimeError as error:
        report = without_code(report_on(error))
    assert "error: operands of aten::addmm are on cuda:1 and cpu" in report
    assert re.search(r"cpu  float32\[4,5\]  \(mat2\)", report)
