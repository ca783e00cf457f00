# expect: DV110 | gpus: 1 | operands: buf, grad | owner: program
"""State from a checkpoint of the host is put in by hand."""

import torch

model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
model(torch.randn(2, 4).cuda()).sum().backward()
optimizer.step()
for state in optimizer.state.values():
    state["momentum_buffer"] = state["momentum_buffer"].cpu()
optimizer.step()
