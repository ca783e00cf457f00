# expect: DV104 | gpus: 2 | operands: tr_loss, loss | owner: -
"""orpo 18: the Trainer refuses a loss that is on the last stage's GPU.

No operand is to be changed before the other: the Trainer refuses, and both are named.
"""

import torch

head = torch.nn.Linear(4, 1).to("cuda:1")


def compute_loss(x):
    return head(x.to("cuda:1")).mean()


tr_loss = torch.tensor(0.0, device="cuda:0")
loss = compute_loss(torch.randn(2, 4, device="cuda:0"))
if tr_loss.device != loss.device:
    raise ValueError(
        f"Calculated loss must be on the original device: {tr_loss.device} but device in use is {loss.device}"
    )
