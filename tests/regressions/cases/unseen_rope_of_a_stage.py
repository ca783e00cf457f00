# expect: DV101 | gpus: 2 | operands: q, cos | owner: program
"""Layers are moved to a second GPU; their hidden states come along, the rotary pair that they are given does not."""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM


class TwoStages(nn.Module):
    def __init__(self, base, devices):
        super().__init__()
        self.devices = devices
        self.embed = base.model.embed_tokens.to(devices[0])
        self.rotary = base.model.rotary_emb.to(devices[0])
        self.stages = nn.ModuleList(
            [nn.ModuleList([layer]).to(device) for layer, device in zip(base.model.layers, devices, strict=False)]
        )

    def run_stage(self, layers, hidden, rope):
        for layer in layers:
            hidden = layer(hidden, attention_mask=None, position_embeddings=rope)
        return hidden

    def forward(self, ids):
        hidden = self.embed(ids)
        positions = torch.arange(ids.shape[1], device=self.devices[0])[None]
        rope = self.rotary(hidden, positions)
        for stage, device in zip(self.stages, self.devices, strict=True):
            hidden = self.run_stage(stage, hidden.to(device), rope)
        return hidden


config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
model = TwoStages(LlamaForCausalLM(config), ["cuda:0", "cuda:1"])
model(torch.randint(0, 64, (2, 6), device="cuda:0"))
