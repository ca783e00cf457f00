# expect: DV113 | gpus: 2 | operands: Q, cos | owner: program
"""unsloth PR 2862: one table of cosines, pinned to the GPU that was asked first."""

import torch


class LlamaRotaryEmbedding:
    cos_cached = None

    @classmethod
    def get_cached(cls, seq_len, device):
        if cls.cos_cached is None or cls.cos_cached.shape[0] < seq_len:
            t = torch.arange(seq_len, device=device).float()
            cls.cos_cached = torch.outer(t, torch.ones(4, device=device)).cos()
        return cls.cos_cached[:seq_len]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(4, 4)

    def forward(self, x):
        Q = self.q_proj(x)
        cos = LlamaRotaryEmbedding.get_cached(x.shape[0], x.device)
        return Q * cos


layers = torch.nn.ModuleList([Layer().to("cuda:0"), Layer().to("cuda:1")])
hidden = torch.randn(3, 4)
for number, layer in enumerate(layers):
    hidden = layer(hidden.to(f"cuda:{number}"))
