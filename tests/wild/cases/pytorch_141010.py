# expect: DV115 | gpus: 2 | operands: f"cuda:{rank}" | owner: -
"""A GPU is asked for that this process does not have."""

import torch

rank = 3
torch.zeros(2).to(f"cuda:{rank}")
