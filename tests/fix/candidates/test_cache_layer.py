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


def test_a_cache_of_another_replica_comes_before_the_loop(fixed: Fixed):
    assert fixed(
        """
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=31, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)

def replica(gpu):
    torch.manual_seed(0)
    return LlamaForCausalLM(config).eval().to(gpu)

@torch.no_grad()
def prefill(model, tokens):
    cache = DynamicCache(config=config)
    model(torch.tensor([tokens], device=model.device), past_key_values=cache, use_cache=True)
    return cache

@torch.no_grad()
def decode(model, cache, tokens):
    ids = torch.tensor([tokens], device=model.device)
    found = []
    for _ in range(3):
        out = model(ids, past_key_values=cache, use_cache=True)
        ids = out.logits[:, -1].argmax(-1, keepdim=True)
        found.append(ids.item())
    return found

first, second = replica("cuda:0"), replica("cuda:1")
print(decode(second, prefill(first, [3, 4, 5]), [6, 7]))
""",
        gpus=2,
    ) == [
        "for layer in cache.layers:",
        "layer.keys, layer.values = layer.keys.to(ids.device), layer.values.to(ids.device)",
    ]
