# expect: DV111 | gpus: 1 | operands: generator | owner: program
"""A generator of the GPU fills a CPU tensor."""

import torch

generator = torch.Generator(device="cuda")
torch.randn(3, generator=generator)
