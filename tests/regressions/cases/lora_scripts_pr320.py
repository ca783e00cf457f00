# expect: DV110 | gpus: 1 | operands: update, state["lr_mask"] | owner: program
"""lora-scripts PR 320: an optimizer rebuilds a mask on resume, on the host."""

import torch


class Automagic(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["lr_mask"] = torch.full(p.shape, group["lr"])

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "lr_mask" not in state:
                    state["lr_mask"] = torch.full_like(p, group["lr"])
                update = p.grad.sign()
                p.sub_(update * state["lr_mask"])


model = torch.nn.Linear(4, 2).to("cuda:0")
optimizer = Automagic(model.parameters())
model(torch.randn(3, 4, device="cuda:0")).sum().backward()
optimizer.step()
optimizer.load_state_dict(optimizer.state_dict())
optimizer.step()
