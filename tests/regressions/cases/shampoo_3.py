# expect: DV110 | gpus: 1 | operands: precond, p.grad | owner: program
"""A hand-written optimizer keeps its state on the host."""

import torch


class Shampoo(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["precond"] = torch.zeros(p.shape)

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                precond = self.state[p]["precond"]
                precond.add_(p.grad)


model = torch.nn.Linear(4, 4).cuda()
optimizer = Shampoo(model.parameters())
model(torch.randn(2, 4).cuda()).sum().backward()
optimizer.step()
