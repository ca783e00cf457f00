"""A batch class of the user's moves its tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

FORGETS = """
import torch

class Batch:
    def __init__(self, ids, mask):
        self.ids, self.mask = ids, mask

    def to(self, device):
{body}

layer = torch.nn.Linear(3, 3).cuda()
batch = Batch(torch.ones(2, 3), torch.ones(2, 3)).to("cuda")
(layer(batch.ids) * batch.mask).sum().backward()
print((layer(batch.ids) - batch.mask).sum().item())
"""


def test_a_loop_that_keeps_nothing(fixed: Fixed):
    body = "        for each in (self.ids, self.mask):\n            each = each.to(device)\n        return self"
    assert fixed(FORGETS.format(body=body)) == ["self.ids = self.ids.to(device)", "self.mask = self.mask.to(device)"]


@pytest.mark.parametrize(
    ("body", "added"),
    [
        (
            "        return Batch(self.ids.to(device), self.mask)",
            "return Batch(self.ids.to(device), self.mask.to(device))",
        ),
        ("        self.ids = self.ids.to(device)\n        return self", "self.mask = self.mask.to(device)"),
    ],
)
def test_the_field_that_was_forgotten_moves(fixed: Fixed, body: str, added: str):
    assert fixed(FORGETS.format(body=body)) == [added]


LACKS = """
import torch
from dataclasses import dataclass
from torch.utils.data import DataLoader

@dataclass{frozen}
class Batch:
    x: torch.Tensor
    names: list

def collate(rows):
    return Batch(torch.stack(rows), ["a"] * len(rows))

model = torch.nn.Linear(3, 1).cuda()
for batch in DataLoader(list(torch.randn(4, 3)), batch_size=2, collate_fn=collate):
    model(batch.x).sum().backward()
"""


@pytest.mark.parametrize("frozen", ["", "(frozen=True)"])
def test_the_method_is_written_and_called(fixed: Fixed, frozen: str):
    added = fixed(LACKS.format(frozen=frozen))
    assert "def to(self, device):" in added
    assert added[-1] == "batch = batch.to(next(model.parameters()).device)"


def test_accelerate_calls_the_method(fixed: Fixed):
    pytest.importorskip("accelerate")
    text = LACKS.format(frozen="").replace("model = torch", "from accelerate import Accelerator\nmodel = torch")
    text = text.replace("for batch in DataLoader(", "loader = DataLoader(").replace(
        "collate_fn=collate):", "collate_fn=collate)"
    )
    text = text.replace(
        "    model(batch", "model, loader = Accelerator().prepare(model, loader)\nfor batch in loader:\n    model(batch"
    )
    added = fixed(text)
    assert "def to(self, device):" in added and not any("batch.to(" in line for line in added)
