# expect: DV101 | gpus: 2 | operands: hidden, axis | owner: accelerate
"""A direction is read from the first layer and projected out of the last one."""

import torch
from accelerate import dispatch_model
from torch import nn


def main():
    net = nn.Sequential(*(nn.Linear(8, 8) for _ in range(4)))
    net = dispatch_model(net, {"0": 0, "1": 0, "2": 1, "3": 1})
    seen = {}
    net[0].register_forward_hook(lambda module, args, output: seen.update(axis=output.mean(0)))
    net(torch.rand(5, 8))
    axis = seen["axis"] / seen["axis"].norm()

    def project(module, args, output):
        hidden = output
        share = hidden @ axis
        return hidden - share[:, None] * axis

    net[3].register_forward_hook(project)
    print(net(torch.rand(5, 8)).shape)


main()
