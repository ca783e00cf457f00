"""GPUs that are not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Ended = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.cuda.set_device(rank)", "torch.cuda.set_device(rank % torch.cuda.device_count())"),
        ('x = torch.ones(2).to(f"cuda:{rank}")', 'x = torch.ones(2).to(f"cuda:{rank % torch.cuda.device_count()}")'),
        ('x = torch.ones(2).to("cuda:7")', 'x = torch.ones(2).to("cuda:0")'),
    ],
)
def test_an_ordinal_stays_within_the_number_of_gpus(ended: Ended, before: str, after: str):
    assert ended(f"import torch\n\nrank = 3\n{before}\n", gpus=2) == [after]


def test_gpus_that_are_counted_from_one_are_counted_from_zero(fixed: Ended):
    assert fixed(
        """
import torch

def place(stage):
    return torch.device("cuda", stage + 1)

layers = [torch.nn.Linear(2, 2).to(place(stage)) for stage in range(2)]
x = torch.ones(1, 2)
for stage, layer in enumerate(layers):
    x = layer(x.to(place(stage)))
x.sum().backward()
""",
        gpus=2,
    ) == ['return torch.device("cuda", stage)']
