# expect: DV107 | gpus: 2 | operands: residual, feed_forward_hidden_states | owner: accelerate
"""StarCoder 29: the map puts c_fc of a block on GPU 0 and c_proj on GPU 1."""

import torch
from accelerate import dispatch_model
from transformers import GPT2Config, GPT2Model

model = GPT2Model(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=2, n_head=2))
where = {"wte": 0, "wpe": 0, "drop": 0, "h.0": 0, "h.1.ln_1": 0, "h.1.attn": 0, "h.1.ln_2": 0, "h.1.mlp.c_fc": 0,
         "h.1.mlp.act": 0, "h.1.mlp.c_proj": 1, "h.1.mlp.dropout": 1, "ln_f": 1}  # fmt: skip
model = dispatch_model(model, where)
model(torch.tensor([[1, 2, 3]], device="cuda:0"), use_cache=False)
