"""What a name that said a device was given, as the source has it."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import devsan


@pytest.fixture(autouse=True)
def gpus() -> Iterator[None]:
    with devsan.emulate(gpus=2):
        yield


PROGRAMS = {
    "an argument of the caller": (
        """
        def table(n, device):
            return torch.zeros(n, device=device)

        def main(model):
            device = next(model.parameters()).device
            return table(3, device)
        """,
        "next(model.parameters()).device",
        "device = next",
    ),
    "a device that the caller writes out": (
        """
        def table(n, device):
            return torch.zeros(n, device=device)

        def main(model):
            return table(
                3, torch.device("cuda:1")
            )
        """,
        '"cuda:1"',
        "3, torch",
    ),
    "the default of a parameter": (
        """
        def table(n, device="cuda:1"):
            return torch.zeros(n, device=device)

        def main(model):
            return table(3)
        """,
        '"cuda:1"',
        "def table",
    ),
    "a comprehension": (
        """
        def main(model):
            device = model.weight.device
            return [torch.zeros(3, device=device) for _ in range(2)][0]
        """,
        "model.weight.device",
        "device = model",
    ),
    "what an object was made with": (
        """
        class Tables:
            def __init__(self, n, device):
                self.n = n
                self.device = torch.device(device)

            def make(self):
                return torch.zeros(self.n, device=self.device)

        def main(model):
            tables = Tables(3, "cuda:0")
            return tables.make()
        """,
        '"cuda:0"',
        "tables = Tables",
    ),
    "an object whose device is given twice": (
        """
        class Tables:
            def __init__(self):
                self.device = "cpu"

            def use(self, device):
                self.device = device

            def make(self):
                return torch.zeros(3, device=self.device)

        def main(model):
            tables = Tables()
            tables.use("cuda:1")
            return tables.make()
        """,
        "",
        "",
    ),
    "a tensor that the function makes": (
        """
        def main(model):
            places = torch.arange(3, device=model.weight.device)
            apart = places[:, None] - places[None, :]
            return torch.zeros_like(apart, device=apart.device)
        """,
        "model.weight.device",
        "places = torch",
    ),
    "a tensor that was moved since": (
        """
        def main(model):
            apart = torch.zeros(3, device="cuda:0").to(model.weight.device) * 2
            return torch.zeros_like(apart, device=apart.device)
        """,
        "",
        "",
    ),
    "what a model computes of a tensor": (
        """
        def main(model):
            apart = model(torch.zeros(3, device="cuda:1")) + torch.zeros(3, device="cuda:1")
            return torch.zeros_like(apart, device=apart.device)
        """,
        "",
        "",
    ),
    "a tensor and its indices": (
        """
        def main(model):
            apart = model.weight[torch.arange(2, device="cpu")]
            return torch.zeros_like(apart, device=apart.device)
        """,
        "",
        "",
    ),
    "a default where several calls are": (
        """
        class Tables:
            def __init__(self, device="cuda:0"):
                self.device = device

            def make(self):
                return torch.zeros(3, device=self.device)

        def main(model):
            Tables()
            return Tables("cuda:1").make()
        """,
        "",
        "",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_value_and_place(case: str, tmp_path: Path):
    from devsan.introspect.provenance.device_values import say_value
    from devsan.introspect.provenance.reader import ProvenanceReader

    text, value, line = PROGRAMS[case]
    file = tmp_path / "program.py"
    file.write_text("import torch\n" + textwrap.dedent(text), encoding="utf-8")
    linecache.checkcache()
    names: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    [event] = ProvenanceReader().of(names["main"](torch.nn.Linear(3, 3, device="cuda:1")))
    say_value(event)
    lines = file.read_text(encoding="utf-8").splitlines()
    at = [number for number, each in enumerate(lines, start=1) if line and each.strip().startswith(line)]
    assert (event.device_value, event.device_value_at) == (value, f"program.py:{at[0]}" if at else "")
