# expect: DV104 | gpus: 2 | operands: v[0], v[1] | owner: program
"""Batches go to copies of a classifier in turn; what each predicts is collected where it was computed."""

import copy
from collections import defaultdict

import torch
from torch import nn


@torch.no_grad()
def predict(model, batches, devices):
    replicas = {device: copy.deepcopy(model).to(device).eval() for device in devices}
    collected = defaultdict(list)
    for number, (x, y) in enumerate(batches):
        device = devices[number % len(devices)]
        scores = replicas[device](x.to(device))
        collected["sure"].append(scores.softmax(-1).amax(-1).cpu())
        collected["said"].append(scores.argmax(-1))
        collected["true"].append(y)
    return {name: torch.cat(v) for name, v in collected.items()}


torch.manual_seed(0)
batches = [(torch.randn(6, 5), torch.randint(0, 3, (6,))) for _ in range(4)]
found = predict(nn.Linear(5, 3).to("cuda:0"), batches, ["cuda:0", "cuda:1"])
print((found["said"].cpu() == found["true"]).float().mean())
