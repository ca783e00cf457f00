"""Whether a program that ends computes what it computes on one GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from seeded import laboratory

from devsan.fix.alone_run import difference_alone
from devsan.fix.search import search

pytestmark = pytest.mark.drawn(3)  # several runs each

HEAD = "import torch\n\ntorch.manual_seed(0)\n"
PLAIN_TENSOR = (
    HEAD
    + """
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)
        self.scale = torch.nn.Parameter(torch.ones(1)){moved}

    def forward(self, x):
        return self.linear(x) * self.scale

model = Scaled().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(2, 3, device="cuda")).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)
SUM_INTO_A_COPY = (
    HEAD
    + """
master = torch.nn.Linear(3, 1).to("cuda:0")
replica = torch.nn.Linear(3, 1).to("cuda:1")
for step in range(3):
    replica.load_state_dict(master.state_dict())
    for number, model in enumerate((master, replica)):
        model.zero_grad()
        model(torch.ones(2, 3, device=f"cuda:{{number}}") + number).square().sum().backward()
    for mine, its in zip(master.parameters(), replica.parameters()):
        {summed}
        mine.data -= 0.01 * mine.grad
        print(mine.sum().item())
"""
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN_TENSOR.format(moved='.to("cuda")'), "loss 2: expected "),
        (PLAIN_TENSOR.format(moved=""), ""),
        (SUM_INTO_A_COPY.format(summed="mine.grad.to(its.device).add_(its.grad)"), "loss 3: expected "),
        (SUM_INTO_A_COPY.format(summed="mine.grad.add_(its.grad.to(mine.device))"), ""),
        (PLAIN_TENSOR.format(moved='.to("cuda")') + "print(torch.seed())\n", "loss 2: expected "),
        (PLAIN_TENSOR.format(moved='.to("cuda")').replace("manual_seed(0)", "seed()"), ""),
    ],
    ids=["a parameter that moved", "a parameter", "a sum in a copy", "a sum", "a value that varies", "noise"],
)
@pytest.mark.long
def test_what_differs_on_one_gpu_is_told(tmp_path: Path, text: str, said: str):
    tmp_path.joinpath("train.py").write_text(text, encoding="utf-8")
    with laboratory(tmp_path, "train.py") as found:
        difference = difference_alone(found, found.run())
    assert difference.startswith(said) if said else difference == "", difference


def test_a_search_that_finds_no_failure_looks_at_the_numbers(tmp_path: Path):
    tmp_path.joinpath("train.py").write_text(PLAIN_TENSOR.format(moved='.to("cuda")'), encoding="utf-8")
    with laboratory(tmp_path, "train.py") as found:
        searched = search(found, lambda *_: None)
    assert not searched.trials and searched.difference.startswith("loss 2: expected ")
