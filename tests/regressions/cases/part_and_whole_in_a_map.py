# expect: DV105 | gpus: 2 | operands: self.q_proj.weight, hidden_states | owner: accelerate
"""A map names a layer and, before it, a part of it: the weights go where the part's entry says, its hook does not."""

import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2)
device_map = {
    "model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1.self_attn": 1,
    "model.layers.1": 0, "model.layers.2": 1, "model.norm": 1, "lm_head": 0,
}  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map=device_map)
ids = torch.randint(0, 64, (2, 8), device="cuda:0")
print(model(ids, labels=ids).loss.item())
