# expect: DV110 | gpus: 1 | operands: exp_avg_sq, norms | owner: -
"""apex 458: state that is kept in the group is not cast by load_state_dict.

No owner is named: a tensor that torch.load read to the host and load_state_dict put into a group has no record.
"""

import io

import torch


class NovoGrad(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            norms = torch.stack([p.grad.norm() for p in group["params"]])
            exp_avg_sq = group.setdefault("exp_avg_sq", torch.zeros_like(norms))
            exp_avg_sq.mul_(0.9).add_(norms, alpha=0.1)


def train(model, optimizer):
    model(torch.randn(2, 4, device="cuda:0")).sum().backward()
    optimizer.step()


model = torch.nn.Linear(4, 4).to("cuda:0")
optimizer = NovoGrad(model.parameters())
train(model, optimizer)
file = io.BytesIO()
torch.save(optimizer.state_dict(), file)
file.seek(0)
resumed = NovoGrad(model.parameters())
resumed.load_state_dict(torch.load(file, map_location="cpu"))
train(model, resumed)
