# expect: DV101 | gpus: 2 | operands: plan, self.costs | owner: program
"""A planner keeps the device that it was made with; what it sends there for the solver has been there all along."""

import torch
from torch import nn


class Solver:
    def __init__(self, device):
        self.costs = torch.ones(4, 4, device=device)

    def solve(self, plan):
        return plan * self.costs


class Planner:
    def __init__(self, solver, device):
        self.device = device
        self.net = nn.Linear(4, 4).to(device)
        self.solver = solver

    def propose(self, state):
        return self.net(state.to(self.device)).softmax(-1)

    def step(self, state):
        plan = self.propose(state)
        ready = plan.to(self.device, non_blocking=True)
        return self.solver.solve(ready)


Planner(Solver("cuda:1"), torch.device("cuda:0")).step(torch.randn(4, 4))
