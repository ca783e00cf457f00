# expect: DV111 | gpus: 2 | operands: self.stream | owner: program
"""One seeded stream for the whole trial: the GPU's dropout draws from it, and the shuffle is given it, too."""

import torch
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


class Trial:
    def __init__(self, seed):
        self.stream = torch.Generator("cuda:1")
        self.stream.manual_seed(seed)
        self.data = TensorDataset(torch.randn(12, 3))

    def mask(self, x):
        return x * (torch.rand(x.shape, generator=self.stream, device=x.device) > 0.1)

    def batches(self):
        order = RandomSampler(self.data, generator=self.stream)
        return DataLoader(self.data, batch_size=4, sampler=order)

    def run(self):
        return [self.mask(x.to("cuda:1")).sum() for (x,) in self.batches()]


Trial(7).run()
