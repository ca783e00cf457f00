# expect: DV103 | gpus: 2 | operands: self.anchors, boxes | owner: program
"""A matcher's constructor moves the tables whose names it lists, and keeps none of the results."""

import torch


class Matcher:
    TABLES = ("anchors", "strides")

    def __init__(self, anchors, strides, device):
        self.anchors = anchors
        self.strides = strides
        for name in self.TABLES:
            getattr(self, name).to(device)

    def overlap(self, boxes):
        return torch.minimum(boxes[:, None], self.anchors[None]).prod(-1)


def sizes(device):
    return torch.tensor([[8.0, 8.0], [16.0, 8.0]], device=device)


matcher = Matcher(sizes("cuda:0"), torch.tensor([4, 8], device="cuda:0"), "cuda:1")
matcher.overlap(torch.rand(6, 2, device="cuda:1"))
