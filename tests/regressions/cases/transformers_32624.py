# expect: DV106 | gpus: 2 | operands: k_out, key_states | owner: program
"""transformers 32624: a static cache is allocated for all layers on one GPU."""

from dataclasses import dataclass, field

import torch


@dataclass
class StaticCache:
    num_layers: int
    max_len: int
    device: str
    key_cache: list = field(default_factory=list)

    def __post_init__(self):
        for _ in range(self.num_layers):
            self.key_cache.append(torch.zeros((1, 2, self.max_len, 4), device=self.device))

    def update(self, key_states, layer_idx, cache_position):
        k_out = self.key_cache[layer_idx]
        k_out.index_copy_(2, cache_position, key_states)
        return k_out


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index, self.k_proj = index, torch.nn.Linear(4, 4)

    def forward(self, hidden, past_key_values, cache_position):
        key_states = self.k_proj(hidden)
        return past_key_values.update(key_states, self.index, cache_position)


layers = [Layer(0).to("cuda:0"), Layer(1).to("cuda:1")]
cache = StaticCache(2, 8, "cuda:0")
hidden = torch.randn(1, 2, 3, 4, device="cuda:0")
layers[0](hidden, cache, torch.arange(3, device="cuda:0"))
layers[1](hidden.to("cuda:1"), cache, torch.arange(3, device="cuda:1"))
