# expect: DV106 | gpus: 2 | operands: self.keys, indices | owner: program
"""xinference PR 5479: rows of the batch are chosen in every layer of the cache with indices on the first one's GPU."""

import torch
from transformers import DynamicCache

cache = DynamicCache()
for layer in range(2):
    states = torch.randn(2, 2, 3, 4, device=f"cuda:{layer}")
    cache.update(states, states.clone(), layer)


def keep_requests(cache, kept):
    indices = torch.tensor(kept, device=cache.layers[0].keys.device)
    cache.batch_select_indices(indices)


keep_requests(cache, [1])
