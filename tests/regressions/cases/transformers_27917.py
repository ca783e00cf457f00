# expect: DV106 | gpus: 2 | operands: past_key, key_states | owner: accelerate
"""transformers 27917: past_key_values is not among the skip keys, so the hooks move the whole cache."""

import torch
from accelerate import dispatch_model


class LlavaAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k_proj = torch.nn.Linear(4, 4, bias=False)
        self.v_proj = torch.nn.Linear(4, 4, bias=False)

    def forward(self, hidden_states, past_key_value=None, use_cache=True):
        key_states = self.k_proj(hidden_states)
        if past_key_value is not None:
            past_key, _ = past_key_value
            key_states = torch.cat((past_key, key_states), dim=-2)
        return key_states


class Llava(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_tower = torch.nn.Linear(4, 4)
        self.self_attn = LlavaAttention()

    def forward(self, hidden_states, **kwargs):
        return self.self_attn(self.vision_tower(hidden_states), **kwargs)


model = dispatch_model(Llava(), {"vision_tower": 0, "self_attn.k_proj": 1, "self_attn.v_proj": 1}, main_device=0)
past = (torch.zeros(1, 2, 4, device="cuda:1"), torch.zeros(1, 2, 4, device="cuda:1"))
model(torch.randn(1, 1, 4, device="cuda:0"), past_key_value=past)
