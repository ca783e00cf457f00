# expect: DV106 | gpus: 2 | operands: self.keys, key_states | owner: torch.load
"""Keys and values are read to one GPU, and a copy of that cache is used by a model that is on two."""

import copy
import io

import tiny
import torch
from transformers import DynamicCache

model = tiny.llama_on_gpus({"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1,
                            "model.norm": 1, "lm_head": 1})  # fmt: skip
prompt = torch.ones(1, 3, dtype=torch.long, device="cuda:0")
file = io.BytesIO()
first = model(prompt, use_cache=True).past_key_values
torch.save([(layer.keys.detach(), layer.values.detach()) for layer in first.layers], file)

file.seek(0)
prefix = DynamicCache(config=model.config)
for number, (keys, values) in enumerate(torch.load(file, map_location=model.device)):
    prefix.update(keys, values, number)
cache = copy.deepcopy(prefix)
model(prompt, past_key_values=cache, use_cache=True)
