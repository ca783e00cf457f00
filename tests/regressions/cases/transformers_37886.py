# expect: DV104 | gpus: 2 | operands: loss, num_items_in_batch | owner: program
"""transformers 37886: a count of the batch divides the loss of the last stage."""

import torch

first = torch.nn.Linear(4, 4).to("cuda:0")
last = torch.nn.Linear(4, 1).to("cuda:1")


def compute_loss(x, num_items_in_batch):
    loss = last(first(x).to("cuda:1")).sum()
    return loss / num_items_in_batch


x = torch.randn(2, 4, device="cuda:0")
compute_loss(x, torch.tensor(2, device="cuda:0"))
