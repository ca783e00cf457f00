# expect: DV107 | gpus: 2 | operands: q, k | owner: accelerate
"""transformers PR 39942: q and k come from two GPUs, and the line that joins them is no module."""

import torch
from accelerate import dispatch_model


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, hidden_states):
        q, k = self.q_proj(hidden_states), self.k_proj(hidden_states)
        return torch.matmul(q, k.transpose(-2, -1)).softmax(-1)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Attention()])

    def forward(self, hidden_states):
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


model = dispatch_model(Decoder(), {"layers.0.q_proj": 0, "layers.0.k_proj": 1}, main_device=0)
model(torch.randn(2, 3, 4, device="cuda:0"))
