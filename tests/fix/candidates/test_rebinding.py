"""Results of moves are kept, and what an object keeps follows."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_the_results_of_a_loop_over_a_batch_are_kept(fixed: Fixed):
    assert fixed("""
import torch

class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    def forward(self, input1, input2):
        return self.one(input1) + self.two(input2)

model = Both().cuda()
batch = {"input1": torch.randn(3, 2), "input2": torch.randn(3, 2)}
for tensor in batch.values():
    tensor = tensor.to("cuda")
model(**batch).sum().backward()
""") == ['batch = {key: tensor.to("cuda") for key, tensor in batch.items()}']


def test_a_function_that_moves_some_of_a_batch_keeps_them_in_it(fixed: Fixed):
    assert fixed("""
import torch

def send(batch, device):
    for value in batch.values():
        if torch.is_tensor(value):
            value.to(device)
    return batch

model = torch.nn.Linear(2, 1).cuda()
batch = send({"x": torch.randn(3, 2), "name": "a"}, "cuda")
model(batch["x"]).sum().backward()
""") == ["for key, value in batch.items():", "batch[key] = value.to(device)"]


def test_a_cache_that_is_written_in_place_follows_its_layer(fixed: Fixed):
    (line,) = fixed(
        """
import torch

class Cache:
    def __init__(self, layers):
        self.keys = [torch.zeros(2, 4, device="cuda:0") for _ in range(layers)]

    def update(self, layer, states, place):
        keys = self.keys[layer]
        keys.index_copy_(0, place, states)
        return keys

class Block(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number, self.key = number, torch.nn.Linear(4, 4)

    def forward(self, x, cache, place):
        return cache.update(self.number, self.key(x), place)

cache = Cache(2)
blocks = [Block(number).to(f"cuda:{number}") for number in range(2)]
x = torch.randn(1, 4)
with torch.no_grad():
    for step in range(2):
        for number, block in enumerate(blocks):
            block(x.to(f"cuda:{number}"), cache, torch.tensor([step], device=f"cuda:{number}"))
stored = [each.cpu() for each in cache.keys]
""",
        gpus=2,
    )
    assert line in (
        "self.keys[layer] = self.keys[layer].to(states.device)",
        "keys.index_copy_(0, place.to(keys.device), states.to(keys.device))",
    )


def test_a_move_inside_of_a_loop_over_items_is_stored(fixed: Fixed):
    assert fixed("""
import torch

def to_device(batch, device):
    for name, value in batch.items():
        if isinstance(value, dict):
            to_device(value, device)
        elif torch.is_tensor(value):
            value.to(device)
    return batch

model = torch.nn.Linear(3, 1).to("cuda:0")
batch = to_device({"x": torch.ones(2, 3), "more": {"y": torch.ones(2, 1)}}, "cuda:0")
loss = (model(batch["x"]) - batch["more"]["y"]).square().mean()
loss.backward()
print(loss.item())
""") == ["batch[name] = value.to(device)"]


def test_what_a_loop_makes_of_its_variable_alone_is_kept(fixed: Fixed):
    (line,) = fixed("""
import torch

torch.manual_seed(0)
layer = torch.nn.Linear(3, 2).to("cuda")
data = [{"x": torch.ones(3), "y": torch.ones(2)} for _ in range(2)]
for batch in torch.utils.data.DataLoader(data, batch_size=2, collate_fn=list):
    for t in batch:
        t = {key: value.to("cuda") for key, value in t.items()}
    loss = 0
    for t in batch:
        loss = loss + (layer(t["x"]) - t["y"]).pow(2).sum()
    loss.backward()
""")
    assert line == 'batch = [{key: value.to("cuda") for key, value in t.items()} for t in batch]'
