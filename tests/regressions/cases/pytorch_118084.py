# expect: DV111 | gpus: 1 | operands: generator | owner: program
"""A CPU generator is given to a sampler of the GPU."""

import torch

generator = torch.Generator().manual_seed(0)
torch.randn(3, device="cuda", generator=generator)
