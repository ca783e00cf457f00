# expect: DV106 | gpus: 2 | operands: self.recurrent_states * 0.5, x | owner: program
"""RecurrentGemma PR 30273: every layer's state is set up on the device of the hidden state that enters the model."""

import torch
from torch import nn


class RecurrentBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.recurrent_states = None

    def _setup_cache(self, batch, device):
        self.recurrent_states = torch.zeros((batch, 4), device=device)

    def forward(self, hidden):
        x = self.linear(hidden)
        self.recurrent_states = self.recurrent_states * 0.5 + x
        return self.recurrent_states


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([RecurrentBlock().to("cuda:0"), RecurrentBlock().to("cuda:1")])

    def forward(self, hidden):
        for layer in self.layers:
            layer._setup_cache(hidden.shape[0], hidden.device)
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden.to(f"cuda:{number}"))
        return hidden


Model()(torch.randn(2, 4, device="cuda:0"))
