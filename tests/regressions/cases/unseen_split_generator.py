# expect: DV111 | gpus: 1 | operands: rng | owner: program
"""The data set is split with the generator that seeds the noise on the GPU."""

import torch
from torch.utils.data import TensorDataset, random_split


def prepare(data, rng):
    parts = random_split(data, [8, 4], generator=rng)
    return parts[0]


def main(seed=3):
    rng = torch.Generator(device="cuda").manual_seed(seed)
    train = prepare(TensorDataset(torch.arange(12.0)), rng)
    noise = torch.randn(8, generator=rng, device="cuda")
    return len(train), noise


main()
