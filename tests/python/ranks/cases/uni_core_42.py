# expect: DV110 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: -
"""Uni-Core 42: the averaged weights are made before the model is moved."""

import copy
import os

import torch
import torch.distributed as dist


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.params = {name: copy.deepcopy(each.data) for name, each in model.named_parameters()}

    def update(self, model):
        for name, each in model.named_parameters():
            diff = self.params[name] - each.data
            self.params[name] -= (1 - self.decay) * diff


rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Linear(8, 8)
ema = EMA(net, 0.9)
net.cuda()
ema.update(net)
dist.barrier()
