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


def test_a_number_in_a_text_is_counted_from_zero(fixed: Ended):
    text = """
import torch

def place(stage):
    return f"cuda:{stage+1}"

x = torch.ones(1, 2, requires_grad=True)
for stage in range(2):
    x = x.to(place(stage)) * 2
x.sum().backward()
"""
    assert fixed(text, gpus=2) == ['return f"cuda:{stage}"']


def test_a_checkpoint_is_read_to_a_gpu_that_is_there(fixed: Ended):
    """Numbers of files are no numbers of GPUs."""
    text = """
import io
import torch

files = []
for number in (1, 2):
    files.append((number, io.BytesIO()))
    torch.save(torch.nn.Linear(2, 2).state_dict(), files[-1][1])
x = torch.ones(1, 2)
for number, file in files:
    file.seek(0)
    device = torch.device(f"cuda:{number}")
    state = torch.load(file, map_location=device)
    layer = torch.nn.Linear(2, 2).to(device)
    layer.load_state_dict(state)
    x = layer(x.to(device))
x.sum().backward()
"""
    assert fixed(text, gpus=2) == ['device = torch.device(f"cuda:{number % torch.cuda.device_count()}")']
