# expect: DV101 | gpus: 2 | operands: self.identity, a @ a.t() | owner: program
"""A penalty on adapters has made its identity where the first of them is; the second is on another GPU."""

import torch
from accelerate import dispatch_model
from peft import LoraConfig, get_peft_model
from torch import nn


class Penalty:
    def __init__(self, model):
        self.factors = [weight for name, weight in model.named_parameters() if "lora_A" in name]
        self.identity = torch.eye(2, device=self.factors[0].device)

    def __call__(self):
        return [((a @ a.t() - self.identity) ** 2).sum().item() for a in self.factors]


net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
dispatch_model(net, {"0": 0, "1": 1})
Penalty(get_peft_model(net, LoraConfig(r=2, target_modules=["0", "1"])))()
