# expect: DV202 | gpus: 2 | operands: model.layers.1.self_attn.q_proj.weight | owner: transformers
"""DataParallel wraps a model that a map has spread."""

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
torch.nn.DataParallel(model)(torch.tensor([[1, 2, 3], [1, 2, 3]], device=0))
