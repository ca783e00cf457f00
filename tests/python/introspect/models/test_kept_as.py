"""What a tensor that nothing registers is called by what keeps it: a path in the model, an attribute of a class."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODEL = """
    import torch
    from torch import nn

    class Codes:
        def __init__(self):
            self.rows = torch.ones(4)

    def scaling(table):
        return lambda x: x * table

    def shifted(x, by):
        return x + by

    class Block(nn.Module):
        shared, tables = None, {{}}

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.shift = torch.ones(4)
            self.books = [Codes()]
            self.scaled = scaling(torch.ones(4))

        def forward(self, x):
            x = self.linear(x)
            {line}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()

        def forward(self, x):
            return self.block(x)

    nets = [Net().to("cuda:0"), Net().to("cuda:1")]
    for number, net in enumerate(nets):
        net(torch.ones(2, 4, device=f"cuda:{{number}}"))
"""
SHARED = "Block.shared = x.mean(0) if Block.shared is None else Block.shared; return x + Block.shared"
TABLES = "table = Block.tables.setdefault(len(x), x.mean(0)); return x * table"


@pytest.mark.parametrize(
    ("line", "name", "path"),
    [
        ("return shifted(x, self.shift)", "by", "block.shift"),
        ("rows = self.books[0].rows; return x + rows", "rows", "block.books[0].rows"),
        ("return self.scaled(x)", "table", "block.scaled(table)"),
        (SHARED, "Block.shared", "Block.shared"),
        (TABLES, "table", "Block.tables[2]"),
    ],
)
def test_by_what_keeps_it(
    line: str, name: str, path: str, explained: Callable[[str, Path, int], Any], tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(textwrap.dedent(MODEL.format(line=line)), encoding="utf-8")
    explanation = explained(file.read_text(encoding="utf-8"), file, 2)
    kept = {str(each.name): str(each.kept_as) for each in explanation.facts.failure.operands}
    assert kept[name] == path
