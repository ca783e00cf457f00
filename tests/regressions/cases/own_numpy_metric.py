# expect: DV103 | gpus: 1 | operands: predictions | owner: program
"""A metric of NumPy is given predictions of the GPU."""

import numpy as np
import torch


def accuracy(predictions, labels):
    return float(np.mean(np.equal(predictions, labels)))


logits = torch.randn(4, 3, device="cuda")
accuracy(logits.argmax(-1), np.array([0, 1, 2, 0]))
