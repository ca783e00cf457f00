# expect: DV106 | gpus: 2 | operands: past_key_value, key | owner: program
"""A recurrent state is kept on the GPU of the first layer."""

import torch


class RecurrentCache:
    def __init__(self):
        self.states = {}

    def update(self, key, number):
        past_key_value = self.states.get("state")
        self.states["state"] = key
        return key if past_key_value is None else torch.cat((past_key_value, key), dim=-2)


cache = RecurrentCache()
for number in range(2):
    layer = torch.nn.Linear(4, 4).to(f"cuda:{number}")
    key = layer(torch.zeros(1, 1, 4, device=f"cuda:{number}"))
    cache.update(key, number)
