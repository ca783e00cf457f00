# expect: DV104 | gpus: 2 | operands: norms[0], norms[1], norms[2] | owner: program
"""torch 1.5's clip_grad_norm_: one norm for each device, stacked."""

import torch

parts = [torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1")]
x = torch.randn(2, 4, device="cuda:0")
parts[1](parts[0](x).to("cuda:1")).sum().backward()


def clip_grad_norm(parameters):
    norms = [torch.norm(parameter.grad) for parameter in parameters]
    return torch.norm(torch.stack(norms))


clip_grad_norm([parameter for part in parts for parameter in part.parameters()])
