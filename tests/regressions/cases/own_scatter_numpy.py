# expect: DV103 | gpus: 1 | operands: one_hot, index | owner: program
"""An index comes from NumPy and is not moved."""

import numpy as np
import torch

logits = torch.randn(3, 5, device="cuda")
index = torch.from_numpy(np.array([[0], [2], [4]]))
one_hot = torch.zeros_like(logits)
one_hot.scatter_(1, index, 1.0)
