# expect: DV105 | gpus: 2 | operands: hidden_states, self.up.weight | owner: program
"""auto-round 1308: an expert block is replaced after dispatch; the new one has no hook."""

import torch
from accelerate import dispatch_model


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4, 4)

    def forward(self, hidden_states):
        return self.up(hidden_states)


class FusedExperts(Experts):
    pass


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, hidden_states):
        return self.experts(hidden_states)


model = torch.nn.Sequential(Block(), Block())
model = dispatch_model(model, {"0": 0, "1.experts": 1}, main_device=0)
old = model[1].experts
new = FusedExperts()
new.load_state_dict(old.state_dict())
model[1].experts = new.to(next(old.parameters()).device)
model(torch.randn(2, 4, device="cuda:0"))
