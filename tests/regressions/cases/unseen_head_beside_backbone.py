# expect: DV101 | gpus: 2 | operands: self.score.weight | owner: program
"""A head of the program's own goes to the device of a dispatched model, which is that of its first parameter."""

import torch
from accelerate import dispatch_model
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel


class Ranker(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.drop = nn.Dropout(0.1)
        self.score = nn.Linear(backbone.config.n_embd, 1).to(backbone.device)

    def forward(self, ids):
        hidden = self.backbone.transformer(ids, use_cache=False).last_hidden_state
        rows = torch.arange(hidden.size(0), device=hidden.device)
        return self.score(self.drop(hidden[rows, -1]))


config = GPT2Config(vocab_size=17, n_embd=8, n_layer=2, n_head=2, n_positions=16)
places = {"transformer.wte": 0, "transformer.wpe": 0, "transformer.h.0": 0, "transformer.h.1": 1,
          "transformer.ln_f": 1, "lm_head": 0}  # fmt: skip
backbone = dispatch_model(GPT2LMHeadModel(config), device_map=places)
Ranker(backbone)(torch.zeros(2, 4, dtype=torch.long, device="cuda:0"))
