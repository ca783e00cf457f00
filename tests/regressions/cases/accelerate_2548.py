# expect: DV106 | gpus: 2 | operands: past_key_values["keys"], key_states | owner: accelerate
"""accelerate 2548: dispatched by hand without skip keys; a hook moves the cache away from its layer."""

import torch
from accelerate import dispatch_model


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k_proj = torch.nn.Linear(4, 4)

    def forward(self, hidden_states, past_key_values=None):
        key_states = self.k_proj(hidden_states)
        return torch.cat([past_key_values["keys"], key_states], dim=1)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(4, 4)
        self.attention = Attention()

    def forward(self, hidden_states, past_key_values):
        return self.attention(self.embed(hidden_states), past_key_values=past_key_values)


model = dispatch_model(Decoder(), {"embed": 0, "attention.k_proj": 1}, main_device=0)
cache = {"keys": torch.zeros(1, 2, 4, device="cuda:1")}
model(torch.randn(1, 1, 4, device="cuda:0"), past_key_values=cache)
