# expect: DV201 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: LOCAL_RANK | waits: 0
"""Lightning 20276: the model is dispatched before set_device; then the strategy moves the weights alone."""

import os

import torch
import torch.distributed as dist
from accelerate import dispatch_model


class Wrapper(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, ids):
        return self.inner(ids)


net = torch.nn.Sequential(torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8))
net = dispatch_model(net, {"": torch.cuda.current_device()}, force_hooks=True)
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
module = Wrapper(net).to(f"cuda:{rank}")
loss = module(torch.ones(2, 3, dtype=torch.long, device="cuda")).sum()
loss.backward()
dist.all_reduce(loss)
