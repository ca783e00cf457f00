# expect: DV106 | gpus: 2 | operands: keep, layer.keys | owner: accelerate
"""What to keep of a cache is chosen from scores on the first GPU, for layers on both."""

import torch
from tiny import llama_on_gpus
from transformers import DynamicCache

model = llama_on_gpus({
    "model.embed_tokens": 0, "model.layers.0": 0, "model.rotary_emb": 0, "model.layers.1": 1, "model.norm": 1,
    "lm_head": 1,
})  # fmt: skip
ids = torch.randint(0, 16, (1, 6), device="cuda:0")
past_key_values = DynamicCache(config=model.config)
scores = model(ids, past_key_values=past_key_values, use_cache=True).logits.sum((0, 2))
keep = scores.topk(4).indices.sort().values
for layer in past_key_values.layers:
    layer.keys = layer.keys[:, :, keep]
    layer.values = layer.values[:, :, keep]
