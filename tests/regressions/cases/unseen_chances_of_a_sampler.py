# expect: DV111 | gpus: 1 | operands: self.chances, self.generator | owner: program
"""A sampler draws with a generator of the host, until its chances are computed from losses on the GPU."""

import torch


class Sampler:
    def __init__(self, count):
        self.generator = torch.Generator().manual_seed(0)
        self.chances = torch.ones(count)

    def __iter__(self):
        picks = torch.multinomial(self.chances, 4, generator=self.generator)
        return iter(picks.tolist())

    def update(self, losses):
        self.chances = torch.softmax(losses, dim=0)


def main():
    sampler = Sampler(6)
    list(sampler)
    losses = torch.zeros(6, device="cuda")
    losses[2] = 3.0
    sampler.update(losses)
    list(sampler)


main()
