# expect: DV101 | gpus: 2 | operands: anchors, found | owner: program
"""A loss takes the matches to where the scores are; the anchors that they select from stay on the other GPU."""

import torch


def loss(scores, anchors, best):
    best = best.to(scores.device)
    found = best > 0
    return (scores[found] - anchors[found].sum(1)).sum()


features = torch.randn(4, 3, device="cuda:0")
anchors = torch.arange(12, device=features.device).view(4, 3) + features
loss(features.to("cuda:1").sum(1), anchors, torch.tensor([0, 1, 1, 0], device="cuda:0"))
