"""What a module is given comes to its weights where it is called."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, hidden, memory, causal=None):
        scores = self.query(hidden) @ self.key(memory).transpose(-1, -2)
        return scores if causal is None else scores + causal

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 4).to("cuda:0"), Decoder().to("cuda:1")

    def forward(self, x):
        memory = self.encoder(x).relu()
        return self.decoder(memory, memory{more})

model = Model()
model(torch.ones(2, 3, device="cuda:0")).sum().backward()
"""


def test_one_edit_at_the_call_where_uses_inside_take_two(fixed: Fixed):
    (line,) = fixed(PROGRAM.format(more=""), gpus=2)
    device = "next(self.decoder.parameters()).device"
    assert line == f"return self.decoder(memory.to({device}), memory.to({device}))"


def test_what_is_no_tensor_stays(fixed: Fixed):
    (line,) = fixed(PROGRAM.format(more=", causal=None"), gpus=2)
    assert line.endswith(", causal=None)") and line.count(".to(") == 2


def test_a_network_of_torch_is_given_its_input_where_its_weights_are(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.layer = table, nn.TransformerEncoderLayer(4, 1, 4, 0.0, batch_first=True)

    def forward(self, ids):
        out = self.layer(self.table(ids))
        return out

torch.manual_seed(0)
table = nn.Embedding(5, 4)
encoder, decoder = Encoder(table).to("cuda:0"), Encoder(table).to("cuda:1")

def ids():
    return torch.arange(4)[None].to("cuda:0")

(encoder(ids()).mean().to("cuda:1") + decoder(ids().to("cuda:1")).mean()).backward()
""",
        gpus=2,
    ) == ["out = self.layer(self.table(ids.to(self.table.weight.device)).to(next(self.layer.parameters()).device))"]


def test_a_loss_that_holds_buffers_alone_is_given_what_it_joins_where_they_are(fixed: Fixed):
    (line,) = fixed(
        """
import torch
from torch import nn

class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, 3))

    def forward(self, ours, theirs):
        loss = (ours - (theirs - self.center)).pow(2).mean()
        self.center.lerp_(theirs.mean(0, keepdim=True), 0.1)
        return loss

student, teacher = nn.Linear(4, 3).to("cuda:0"), nn.Linear(4, 3).to("cuda:1")
criterion = Centered().to("cuda:0")
x = torch.ones(2, 4)
theirs = teacher(x.to("cuda:1")).detach()
loss = criterion(student(x.to("cuda:0")), theirs)
loss.backward()
""",
        gpus=2,
    )
    assert line.endswith("theirs.to(next(criterion.buffers()).device))")
