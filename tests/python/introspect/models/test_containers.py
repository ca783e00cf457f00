"""A module may keep its parameters in a dictionary that acts when it is asked, as ZeRO-3's does: it gathers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GATHERING = """
    import torch
    from collections import OrderedDict
    from torch import nn

    class Gathering(OrderedDict):
        asleep = True

        def __getitem__(self, key):
            if not Gathering.asleep:
                raise RuntimeError("a collective in the middle of a report")
            return super().__getitem__(key)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 4).to("cuda:0")
            self.body.__dict__["_parameters"] = Gathering(self.body._parameters)

        def forward(self, x):
            weight = self.body.weight
            Gathering.asleep = False
            return torch.mm(x, {weight})

    Net()(torch.ones(2, 4, device="cuda:1"))
"""


@pytest.mark.parametrize("weight", ["weight", "(weight + 0).t()"])
def test_a_report_reads_parameters_without_asking_for_them(
    explained: Callable[[str, Path, int], Any], tmp_path: Path, weight: str
):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(GATHERING.replace("{weight}", weight)), encoding="utf-8")
    explanation = explained(file.read_text(encoding="utf-8"), file, 2)
    names = {str(each.device): each.name for each in explanation.facts.failure.operands}
    assert names == {"cuda:0": weight, "cuda:1": "x"}
