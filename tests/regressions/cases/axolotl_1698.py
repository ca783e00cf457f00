# expect: DV114 | gpus: 1 | operands: grad, 1.0 / combined_scale | owner: program
"""axolotl 1698: gradients are offloaded to the host, the norm that scales them stays a 0-dim tensor of the GPU."""

import torch


class OffloadedOptimizer:
    def __init__(self, parameters, offload_optimizer="cpu"):
        self.parameters = list(parameters)
        self.offload_device = torch.device(offload_optimizer)

    def unscale_and_clip_grads(self, grads, total_norm):
        combined_scale = total_norm / 0.5
        for grad in grads:
            grad.mul_(1.0 / combined_scale)

    def step(self):
        total_norm = torch.stack([p.grad.norm() for p in self.parameters]).norm()
        grads = [p.grad.to(self.offload_device) for p in self.parameters]
        self.unscale_and_clip_grads(grads, total_norm)


model = torch.nn.Linear(4, 4).to("cuda:0")
model(torch.randn(2, 4, device="cuda:0")).sum().backward()
OffloadedOptimizer(model.parameters()).step()
