# expect: DV106 | gpus: 2 | operands: k_out, cache_position | owner: program
"""transformers 33147: the position in the cache follows the inputs, the cache of the layer is elsewhere."""

import torch


class HybridCache:
    def __init__(self, devices):
        self.key_cache = [torch.zeros(1, 2, 8, 4, device=device) for device in devices]

    def update(self, key_states, layer_idx, cache_position):
        k_out = self.key_cache[layer_idx]
        return k_out[:, :, cache_position].add_(key_states)


cache = HybridCache(["cuda:0", "cuda:1"])
cache_position = torch.arange(3, device="cuda:0")
for layer, device in enumerate(("cuda:0", "cuda:1")):
    cache.update(torch.randn(1, 2, 3, 4, device=device), layer, cache_position)
