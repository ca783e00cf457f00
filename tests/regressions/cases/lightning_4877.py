# expect: DV104 | gpus: 2 | operands: total_loss, loss | owner: program
"""A running total of losses from two GPUs."""

import torch

losses = [torch.zeros((), device="cuda:0"), torch.ones((), device="cuda:1")]


def total_loss(losses):
    total_loss = losses[0]
    for loss in losses[1:]:
        total_loss = total_loss + loss
    return total_loss


total_loss(losses)
