"""A model that from_pretrained has spread over two GPUs: forward, generate, training."""

import torch
from tiny import llama_on_gpus

model = llama_on_gpus(
    {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
     "lm_head": 1}
)  # fmt: skip
ids = torch.tensor([[1, 2, 3]], device="cuda:0")
model(input_ids=ids, labels=ids).loss.backward()
torch.optim.AdamW(model.parameters()).step()
assert model.generate(ids, max_new_tokens=2, do_sample=False).device == ids.device
