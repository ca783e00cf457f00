# expect: DV110 | gpus: 1 | operands: anchor, outer(weight, anchor) | owner: program
"""An outer optimizer has its weights on the host; the difference that it is given is on the GPU."""

import torch
from torch import nn

net = nn.Linear(4, 4).to("cuda:0")
anchors = [nn.Parameter(weight.detach().cpu().clone()) for weight in net.parameters()]
optimizer = torch.optim.SGD(anchors, lr=0.7, momentum=0.9)


def outer(weight, anchor):
    return anchor.detach().to(weight.device) - weight.detach()


for weight, anchor in zip(net.parameters(), anchors, strict=True):
    anchor.grad = outer(weight, anchor)
optimizer.step()
