# expect: DV101 | gpus: 2 | operands: embeddings, positions | owner: program
"""accelerate 3127: code asks the model for its device, and the model has two."""

import torch
from tiny import llama_on_gpus

model = llama_on_gpus(
    {
        "model.embed_tokens": 1,
        "model.layers.0": 1,
        "model.layers.1": 0,
        "model.norm": 0,
        "model.rotary_emb": 1,
        "lm_head": 0,
    }
)
device = next(model.lm_head.parameters()).device
embeddings = model.model.embed_tokens(torch.tensor([[1, 2, 3]], device="cuda:1"))
positions = torch.arange(3, device=device).view(1, 3, 1)
print(embeddings * positions)
