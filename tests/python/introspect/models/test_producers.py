"""What passes between the modules of a container has no name in the program; the report says whose output it is."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.error_report import on_exception

SEQUENTIAL = """
    import torch
    from torch import nn
    model = nn.Sequential(nn.Linear(64, 32).cuda(0), nn.ReLU(), nn.Linear(32, 16).cuda(1))
    batch = torch.randn(4, 64, device="cuda:0")
    model(batch)
"""
NESTED = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Sequential(nn.Tanh(), nn.Identity()), nn.Sequential(nn.Linear(8, 8).cuda(1)))
        def forward(self, x):
            return self.body(x * 2)
    Net()(torch.randn(4, 8, device="cuda:0"))
"""
SAME = """
    import torch
    from torch import nn
    model = nn.Sequential(nn.Identity(), nn.Linear(8, 8).cuda(1))
    batch = torch.randn(4, 8, device="cuda:0")
    model(batch)
"""
TWICE = """
    import torch
    from torch import nn
    last = nn.Linear(8, 8).cuda(1)
    model = nn.Sequential(nn.ReLU(), last, last)
    model(torch.randn(4, 8, device="cuda:0"))
"""


def moved(explained: Callable[[str, Path, int], Any], text: str, file: Path) -> Any:
    """The explanation, and the operand that is on the first GPU."""
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    explanation = explained(file.read_text(encoding="utf-8"), file, 2)
    (found,) = [each for each in explanation.facts.failure.operands if str(each.device) == "cuda:0"]
    return explanation, found


@pytest.mark.parametrize(
    ("text", "output_of", "name"),
    [
        (SEQUENTIAL, "model[1] (ReLU)", ""),
        (NESTED, "self.body[0] (Sequential)", ""),
        (SAME, "", "batch"),
    ],
    ids=["sequential", "nested", "same tensor"],
)
def test_an_operand_inside_of_a_container_is_called_by_what_made_it(
    text: str, output_of: str, name: str, explained: Callable[[str, Path, int], Any], tmp_path: Path
):
    explanation, found = moved(explained, text, tmp_path / "program.py")
    assert (found.output_of, found.name) == (output_of, name)
    fixes = [each.text for each in explanation.findings[0].fixes]
    if output_of:
        assert not any("batch" in each or "create" in each for each in fixes), fixes
        assert any(f"move the output of {output_of} to" in each for each in fixes), fixes


def test_where_a_module_stands_twice_nothing_is_guessed(explained: Callable[[str, Path, int], Any], tmp_path: Path):
    _, found = moved(explained, TWICE, tmp_path / "program.py")
    assert found.output_of == ""


@pytest.mark.parametrize(
    ("language", "said"), [("en", "the output of model[1] (ReLU)"), ("zh", "model[1] (ReLU) 的输出")]
)
def test_the_report_labels_no_other_tensor(language: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import devsan

    monkeypatch.setenv("DEVSAN_LANG", language)
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(SEQUENTIAL), encoding="utf-8")
    stream = io.StringIO()
    with devsan.emulate(gpus=2), pytest.raises(RuntimeError) as caught:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "__main__"})
    assert on_exception(type(caught.value), caught.value, caught.value.__traceback__, stream)
    report = stream.getvalue()
    assert said in " ".join(report.split())
    assert "float32[4,64]" not in report
    assert "batch" not in report.replace("model(batch)", "")
