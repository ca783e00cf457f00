# expect: DV113 | gpus: 2 | operands: dropout(x), lora_A.weight | owner: torch.load
"""Averaged adapters are read to one GPU and take the place of those that are where their layers are."""

import tempfile

import tiny
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file

base = tiny.llama_on_gpus({"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1,
                           "model.norm": 1, "lm_head": 1})  # fmt: skip
model = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"))
folder = tempfile.mkdtemp()
model.save_pretrained(folder)
saved = load_file(f"{folder}/adapter_model.safetensors", device="cuda:0")
for name, parameter in model.named_parameters():
    key = name.replace(".default", "")
    if key in saved:
        parameter.data = saved[key]
model(torch.ones(1, 3, dtype=torch.long, device="cuda:0"))
