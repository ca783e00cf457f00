# expect: DV107 | gpus: 2 | operands: residual, hidden_states | owner: accelerate
"""accelerate 1851: no class was named that must not be split, and a decoder layer was cut."""

import torch
from accelerate import dispatch_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=2, tie_word_embeddings=False,
)  # fmt: skip
model = LlamaForCausalLM(config)
where = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1.input_layernorm": 0,
         "model.layers.1.self_attn": 0, "model.layers.1.post_attention_layernorm": 0, "model.layers.1.mlp": 1,
         "model.norm": 1, "lm_head": 1}  # fmt: skip
model = dispatch_model(model, where, skip_keys="past_key_values")
model(torch.tensor([[1, 2, 3]], device="cuda:0"), use_cache=False)
