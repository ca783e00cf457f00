# expect: DV106 | gpus: 2 | operands: self.keys, key_states | owner: torch.load
"""Keys and values of a long prompt are saved once, and read to the device of the model, which is on two GPUs."""

import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from tiny import llama_on_gpus
from transformers import DynamicCache

model = llama_on_gpus(
    {
        "model.embed_tokens": 0,
        "model.layers.0": 0,
        "model.layers.1": 1,
        "model.norm": 1,
        "model.rotary_emb": 0,
        "lm_head": 1,
    }
)
with tempfile.TemporaryDirectory() as folder, torch.no_grad():
    file = os.path.join(folder, "prompt.pt")
    prompt = model(torch.arange(6)[None].to(0), use_cache=True).past_key_values
    torch.save([(layer.keys, layer.values) for layer in prompt.layers], file)
    cache = DynamicCache()
    for number, (keys, values) in enumerate(torch.load(file, map_location=model.device)):
        cache.update(keys, values, number)
    model(torch.tensor([[7]]).to(0), past_key_values=cache, use_cache=True)
