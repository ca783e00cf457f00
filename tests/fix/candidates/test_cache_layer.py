"""A cache that the program fills has each layer's keys and values where the layer is."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_prefix_is_where_its_layers_are(fixed: Fixed):
    assert fixed(
        """
import torch
from accelerate import dispatch_model
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=31, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
places = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
          "lm_head": 1}
model = dispatch_model(LlamaForCausalLM(config).requires_grad_(False), device_map=places)

class Prefix(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(2, 2, 2, 3, 8))

    def forward(self, batch):
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self.table):
            cache.update(keys.expand(batch, -1, -1, -1), values.expand(batch, -1, -1, -1), number)
        return cache

prefix = Prefix().to(model.device)
ids = torch.ones(2, 4, dtype=torch.long, device=model.device)
mask = torch.ones(2, 7, dtype=torch.long, device=model.device)
model(input_ids=ids, attention_mask=mask, past_key_values=prefix(2), labels=ids).loss.backward()
""",
        gpus=2,
    ) == [
        "cache.update(keys.expand(batch, -1, -1, -1).to(next(model.model.layers[number].parameters()).device), "
        "values.expand(batch, -1, -1, -1).to(next(model.model.layers[number].parameters()).device), number)"
    ]
