# expect: DV102 | gpus: 2 | operands: scores, min_length | owner: program
"""A logits processor creates a tensor on a literal device."""

import torch


class Processor:
    def __call__(self, scores):
        min_length = torch.full((1, scores.shape[-1]), -1e9, device="cpu")
        return scores + min_length


Processor()(torch.randn(2, 7, device="cuda:1"))
