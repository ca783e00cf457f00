# expect: DV111 | gpus: 1 | operands: generator | owner: program
"""A seeded shuffle: the loader's generator was made on the GPU."""

import random

import torch
from torch.utils.data import DataLoader, TensorDataset


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    g = torch.Generator(device="cuda")
    g.manual_seed(seed)
    return g


def build_loader(x, y, generator, batch_size=4):
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, generator=generator, drop_last=True)


generator = seed_everything(42)
loader = build_loader(torch.randn(16, 3), torch.randint(0, 2, (16,)), generator)
net = torch.nn.Linear(3, 2).cuda()
for _epoch in range(2):
    for x, y in loader:
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
