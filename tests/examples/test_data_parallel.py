"""examples/data_parallel.py: each GPU takes its part of the batch, the outputs come together on the first."""

from __future__ import annotations

import copy
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "data_parallel.py"


def train_in_parts(parts: int) -> dict[str, Any]:
    """Trains the example's network on the CPU as DataParallel does: a copy of it for each part of the batch.

    The order in which the copies' gradients are added is that of torch.nn.parallel.comm.reduce_add; another order,
    such as that of one batch that is not divided, differs in the last bit.
    """
    torch.manual_seed(0)
    network = runpy.run_path(str(EXAMPLE))["Network"]
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    points, labels = torch.randn(32, 20), torch.randint(0, 3, (32,))
    losses, outputs = [], torch.empty(0)
    for _ in range(3):
        optimizer.zero_grad()
        copies = [copy.deepcopy(model) for _ in range(parts)]
        outputs = torch.cat([part(some) for part, some in zip(copies, points.chunk(parts), strict=True)])
        loss = torch.nn.functional.cross_entropy(outputs, labels)
        loss.backward()
        for parameter, *same in zip(model.parameters(), *(part.parameters() for part in copies), strict=True):
            parameter.grad = sum((other.grad for other in same[1:]), start=same[0].grad)
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "outputs": outputs.detach(), "weights": model.state_dict()}


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in the processes of the examples; the backward of LayerNorm adds up one sum per thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_trains_as_parts_of_the_batch_on_cpu(recorder):
    plain = train_in_parts(4)
    [emulated] = recorder.on_gpus("data_parallel.py")
    assert emulated["result_devices"]["outputs"] == "cuda:0"
    assert emulated["losses"] == plain["losses"]
    assert torch.equal(emulated["outputs"], plain["outputs"])
    assert plain["weights"].keys() == emulated["weights"].keys()
    assert all(torch.equal(emulated["weights"][name], weight) for name, weight in plain["weights"].items())


@pytest.mark.long
def test_each_gpu_takes_its_part(run):
    done = run("-m", "devsan", "run", "--gpus", "4", str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    for step in done.stdout.split("step")[1:]:
        assert sorted(re.findall(r"(\d+) points on (\S+)", step)) == [("8", f"cuda:{gpu}") for gpu in range(4)]
