# expect: DV201 | gpus: 2 | operands: self.embed_tokens.weight, input_ids | owner: program
"""A dispatched model is moved as a whole."""

import torch
from tiny import llama_on_gpus

model = llama_on_gpus(
    {
        "model.embed_tokens": 0,
        "model.layers.0": 0,
        "model.layers.1": 1,
        "model.norm": 1,
        "model.rotary_emb": 1,
        "lm_head": 1,
    }
)
torch.nn.Module.to(model, "cuda:1")
model(torch.tensor([[1, 2, 3]], device=1))
