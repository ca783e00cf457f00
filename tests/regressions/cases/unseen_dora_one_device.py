# expect: DV109 | gpus: 2 | operands: self.up @ self.down, self.base.weight | owner: program
"""Adapters are added to the layers of a model on two GPUs; they are all created with one device."""

import torch
from accelerate import dispatch_model
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM


class DoRALinear(nn.Module):
    def __init__(self, base, rank, device):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features, device=device) * 0.02)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=device))
        self.magnitude = nn.Parameter(base.weight.detach().norm(dim=1))

    def forward(self, x):
        weight = self.base.weight + self.up @ self.down
        return nn.functional.linear(x, weight * (self.magnitude / weight.norm(dim=1))[:, None])


def inject(model, names, rank=2, device="cuda:0"):
    for path, module in list(model.named_modules()):
        if path.rpartition(".")[2] in names:
            parent = model.get_submodule(path.rpartition(".")[0])
            setattr(parent, path.rpartition(".")[2], DoRALinear(module, rank, device))
    return model


config = LlamaConfig(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
)
model = dispatch_model(
    LlamaForCausalLM(config),
    {
        "model.embed_tokens": 0,
        "model.rotary_emb": 0,
        "model.layers.0": 0,
        "model.layers.1": 1,
        "model.norm": 1,
        "lm_head": 1,
    },
)
model = inject(model, {"q_proj", "v_proj"})
model(torch.randint(0, 32, (1, 5), device="cuda:0"))
