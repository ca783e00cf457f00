"""What one device computes is found where a program stops at what is no operator."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from seeded import change, laboratory, script

from devsan.fix.change import applied
from devsan.fix.outcome import Outcome
from devsan.fix.reference_run import Reference, find_reference
from devsan.numbers.comparison import compare
from devsan.numbers.digest import digest
from devsan.numbers.reference import MEETING, ONE_GPU

pytestmark = pytest.mark.drawn(3)  # a search each

PROGRAMS = {
    "numpy computes with a tensor of the GPU": (
        "meeting",
        "import numpy as np\nimport torch\n\nfound = np.mean(np.equal(torch.ones(3, device='cuda'), np.ones(3)))\n"
        "print(torch.tensor(float(found)).item())\n",
        1.0,
    ),
    "a sampler of the host has a generator of the GPU": (
        "meeting",
        "import torch\n\ngenerator = torch.Generator('cuda').manual_seed(1)\n"
        "assert isinstance(generator, torch.Generator) and isinstance(torch.default_generator, torch.Generator)\n"
        "ours = torch.randperm(9, generator=torch.Generator().manual_seed(1))\n"
        "print((torch.randperm(9, generator=generator) - ours).abs().sum().item())\n",
        0.0,
    ),
    "a backward makes its gradient on the host": (
        "meeting",
        "import torch\n\n\nclass Twice(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x, factor):\n        return x * factor\n\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return torch.full((2,), 2.0), None\n\n\n"
        "x = torch.ones(2, device='cuda', requires_grad=True)\nTwice.apply(x.exp(), 2).sum().backward()\n"
        "print((x.grad / x.detach().exp())[0].item())\n",
        2.0,
    ),
    "a parameter's data has moved since its first use": (
        "meeting",
        "import torch\n\n\nclass Twice(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return 2 * gradient.to('cuda:0')\n\n\n"
        "weight = torch.nn.Parameter(torch.ones(2, device='cuda:1'))\nloss = Twice.apply(weight).sum()\n"
        "weight.data = torch.ones(2, device='cuda:0')\nloss.backward()\n"
        "print(weight.grad[0].item())\n",
        2.0,
    ),
    "a parameter stays one when it goes to another GPU": (
        "one_gpu",
        "import torch\n\nweight = torch.nn.Parameter(torch.ones(2, device='cuda:0'))\n"
        "if weight.device.index != 0 or torch.ones(1, device='cuda:1').device != weight.device:\n"
        "    raise ValueError('on two GPUs')\n"
        "assert isinstance(weight.to('cuda:1'), torch.nn.Parameter)\nassert weight.cuda(1) is weight\n"
        "print(weight.sum().item())\n",
        2.0,
    ),
    "the gradient of a root comes to its device": (
        "meeting",
        "import torch\n\nx = torch.ones(2, device='cuda:0', requires_grad=True)\n"
        "torch.autograd.grad(x * 2, x, torch.ones(2))\n(x * 3).backward(torch.ones(2))\nprint(x.grad.sum().item())\n",
        6.0,
    ),
    "a module comes to the first GPU of its DataParallel": (
        "meeting",
        "import torch\n\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1).to('cuda:0'), device_ids=[1])\n"
        "with torch.no_grad():\n    model.module.weight.fill_(3)\n    model.module.bias.fill_(1)\n"
        "print(model(torch.ones(1, 1, device='cuda:1')).item())\n",
        4.0,
    ),
    "the state of a generator comes to the host": (
        "meeting",
        "import torch\n\nstate = torch.get_rng_state().to('cuda:0')\nfirst = torch.rand(1)\n"
        "torch.set_rng_state(state)\nprint((torch.rand(1) - first).item())\n",
        0.0,
    ),
    "a worker that was forked uses the GPU": (
        "meeting",
        "import torch\nfrom torch.utils.data import DataLoader\n\ntorch.ones(1, device='cuda:0')\n"
        "loader = DataLoader([1.0, 2.0], batch_size=2, num_workers=1,\n"
        "                    collate_fn=lambda batch: torch.tensor(batch).to('cuda:0'))\n"
        "print(sum(batch.sum().item() for batch in loader))\n",
        3.0,
    ),
    "what is made without values has some": (
        "whole",
        "import torch\n\nwith torch.device('meta'):\n    weight = torch.ones(3)\n"
        "print(weight.to('meta').cuda().sum().item())\n",
        3.0,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reference(tmp_path, name):
    kind, text, value = PROGRAMS[name]
    tmp_path.joinpath("train.py").write_text(text, encoding="utf-8")
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, lambda *_: None)
    assert reference.kind == kind, reference.first.error
    assert reference.outcome is not None
    values = [event for event in reference.outcome.numbers["MainProcess"] if event["kind"] == "value"]
    assert values[-1]["tensors"][0]["values"] == pytest.approx([value])


def test_memory_begins_with_zeros(tmp_path):
    text = (
        "import torch\n\nfor device in ('cpu', 'cuda:0'):\n    torch.full((200,), 7.0, device=device)\n"
        "    print(torch.empty(200, device=device).abs().sum().item())\n"
    )
    tmp_path.joinpath("train.py").write_text(text, encoding="utf-8")
    with laboratory(tmp_path, "train.py") as found:
        numbers = found.run().numbers["MainProcess"]
    assert [event["tensors"][0]["values"] for event in numbers if event["kind"] == "value"] == [[0.0], [0.0]]


BOUND = """\
import os
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
x = torch.full((2,), rank + 1.0, device=f"cuda:{rank}")
dist.all_reduce(x)
print(x.to("cpu").numpy().sum() + dist.get_rank() * 0.0)
dist.destroy_process_group()
"""


@pytest.mark.long  # ten seconds
@pytest.mark.parametrize("kind", [MEETING, ONE_GPU])
def test_groups_that_are_bound_to_gpus_meet_on_one(tmp_path, kind):
    tmp_path.joinpath("train.py").write_text(BOUND, encoding="utf-8")
    torchrun = ("--", sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
    with laboratory(tmp_path, *torchrun, "train.py", seconds=60) as found:
        outcome = found.run(policy="warn", meeting=kind)
    assert outcome.ended, outcome.error
    assert {"rank0", "rank1"} <= set(outcome.numbers)


ATTENTION = """\
import torch
from torch import nn

torch.manual_seed(0)
embedding = nn.Embedding(64, 16).to("cuda:0")
attention = nn.MultiheadAttention(16, 4, batch_first=True).to("cuda:0")
head = nn.Linear(16, 64, bias=False).to("cuda:1")
norm = nn.LayerNorm(16).to("cuda:1")
modules = nn.ModuleList([embedding, attention, norm, head])
optimizer = torch.optim.AdamW(modules.parameters())
for _ in range(8):
    words = torch.randint(64, (4, 12)).to("cuda:0")
    x = embedding(words)
    x = x + attention(x, x, x, need_weights=False)[0]
    loss = nn.functional.cross_entropy(head(norm(x)).flatten(0, 1), words.flatten().to("cuda:1"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""


def test_a_bias_of_keys_is_rounding_that_adam_makes_steps_of(tmp_path):
    moved = change(script(tmp_path, ATTENTION), ("norm(x)", 'norm(x.to("cuda:1"))'))
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, lambda *_: None)
        again = found.run(policy="warn", meeting=reference.kind, rounds_anew=True)
        assert reference.outcome is not None
        assert compare(reference.outcome.numbers, again.numbers).difference.startswith("weights 1: tensor 2: ")
        judged = reference.judge(again, lambda: again)
        assert judged.equal, judged.difference
        assert reference.judge(found.run(applied([moved])), lambda: again).equal


def _losses(*values: float) -> Outcome:
    events = [{"kind": "loss", "tensors": [digest(torch.tensor(value))]} for value in values]
    numbers = {"rank0": [*events, {"kind": "end", "events": len(events)}]}
    return Outcome(0, False, [], numbers, {}, [], 1.0)


def test_a_candidate_that_is_another_in_each_run_is_compared_by_its_noise():
    # The laboratory is not asked: the reference is known to be the same in each run.
    found = Reference(None, _losses(1.0, 1.0), _losses(1.0, 1.0), MEETING, _calibrated=True)  # type: ignore[arg-type]
    varying, steady = (
        found.judge(_losses(1.0, 1.001), lambda last=last: _losses(1.0, last)) for last in (1.0012, 1.001)
    )
    assert (varying.equal, str(steady.difference)) == (True, "loss 2: expected 1, got 1.001")
    asked = []
    assert not found.judge(_losses(1.0, 1.1), lambda: asked.append(1)).equal  # type: ignore[arg-type, return-value]
    assert asked == [], "what is far off is no noise"


def test_what_a_varying_candidate_holds_beside_is_no_difference():
    def of(last: float, *keys: str) -> Outcome:
        found = _losses(1.0, last)
        state = {"kind": "state", "names": list(keys), "tensors": [digest(torch.ones(2))] * len(keys)}
        return replace(found, numbers={"rank0": [state, *found.numbers["rank0"]]})

    expected = of(1.0, "cache[12]")
    found = Reference(None, expected, expected, MEETING, of(2.0), True)  # type: ignore[arg-type]
    candidate, again = (of(last, "cache[#0]", "cache[#1]") for last in (1.001, 1.0012))
    assert found.judge(candidate, lambda: again).equal
    assert not found.judge(of(1.001, "elsewhere"), lambda: of(1.0012, "elsewhere")).equal


class Interrupted:
    """A laboratory whose user presses Ctrl-C while two runs go on."""

    jobs = 2

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def run(self, *_: object, meeting: str = "", **__: object) -> None:
        if meeting:
            raise KeyboardInterrupt
        assert self.stopped.wait(60)

    def stop(self) -> None:
        self.stopped.set()


def test_an_interrupt_ends_the_run_beside():
    interrupted: Any = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        find_reference(interrupted, lambda *_: None)
    assert interrupted.stopped.is_set()
