# expect: DV108 | gpus: 1 | operands: self.tp, tp | owner: torchmetrics
"""Metrics of torchmetrics in a plain dict of a module."""

import torch
from torch import nn
from torchmetrics.classification import MulticlassAccuracy


class Classifier(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, classes))
        self.metrics = {stage: MulticlassAccuracy(num_classes=classes) for stage in ("train", "val")}

    def step(self, batch, stage):
        x, y = batch
        logits = self.net(x)
        self.metrics[stage].update(logits.argmax(-1), y)
        return nn.functional.cross_entropy(logits, y)


def run_epoch(model, batches, device, optimizer=None):
    stage = "train" if optimizer else "val"
    for x, y in batches:
        loss = model.step((x.to(device), y.to(device)), stage)
        if optimizer:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.metrics[stage].compute()


model = Classifier().to("cuda:0")
batches = [(torch.randn(4, 3, 4), torch.randint(0, 3, (4,))) for _ in range(2)]
print(run_epoch(model, batches, "cuda:0", torch.optim.Adam(model.parameters())))
