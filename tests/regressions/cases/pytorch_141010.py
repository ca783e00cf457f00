# expect: DV115 | gpus: 2 | operands: f"cuda:{rank}" | owner: -
"""A GPU is asked for that this process does not have.

No owner is named: the subject is a number, not a tensor.
"""

import torch

rank = 3
torch.zeros(2).to(f"cuda:{rank}")
