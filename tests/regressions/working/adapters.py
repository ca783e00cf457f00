"""PEFT's adapters on a model that is spread over two GPUs."""

import torch
from peft import LoraConfig, get_peft_model
from tiny import llama_on_gpus

model = llama_on_gpus(
    {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
     "lm_head": 1}
)  # fmt: skip
model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
ids = torch.tensor([[1, 2, 3]], device="cuda:0")
model(input_ids=ids, labels=ids).loss.backward()
