# expect: DV104 | gpus: 2 | operands: correct, hits | owner: program
"""Evaluation of shards on two GPUs adds up the numbers of right answers."""

import copy

import torch
from torch import nn


def shard_accuracy(model, x, y, device):
    with torch.no_grad():
        return (model(x.to(device)).argmax(-1) == y.to(device)).sum()


def evaluate(model, x, y, devices):
    replicas = [copy.deepcopy(model).to(d).eval() for d in devices]
    correct = None
    for replica, xs, ys, d in zip(replicas, x.chunk(len(devices)), y.chunk(len(devices)), devices, strict=False):
        hits = shard_accuracy(replica, xs, ys, d)
        if correct is None:
            correct = hits
        else:
            correct += hits
    return correct / len(x)


print(evaluate(nn.Linear(4, 3), torch.randn(10, 4), torch.randint(0, 3, (10,)), ["cuda:0", "cuda:1"]))
