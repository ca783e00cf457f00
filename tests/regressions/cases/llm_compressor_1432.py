# expect: DV114 | gpus: 1 | operands: weight.abs() | owner: accelerate
"""llm-compressor 1432: a modifier reads the weight of an offloaded layer outside of its forward."""

import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = dispatch_model(model, {"0": 0, "1": "cpu"}, main_device=0)


def compute_scales(layer, activations):
    weight = layer.weight
    return activations.to("cuda:0") / weight.abs().to("cuda:0")


compute_scales(model[1], torch.ones(4))
