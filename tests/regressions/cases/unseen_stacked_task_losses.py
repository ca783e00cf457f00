# expect: DV104 | gpus: 2 | operands: losses[0], losses[1] | owner: program
"""Multi-task: each task's head is on its own GPU, the losses are stacked and weighed."""

import torch
from torch import nn


class Task(nn.Module):
    def __init__(self, dim, classes, device):
        super().__init__()
        self.device = device
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, classes)).to(device)

    def loss(self, features, labels):
        return nn.functional.cross_entropy(self.head(features.to(self.device)), labels.to(self.device))


class MultiTask(nn.Module):
    def __init__(self, dim, tasks):
        super().__init__()
        self.encoder = nn.Linear(6, dim).to("cuda:0")
        self.tasks = nn.ModuleDict(tasks)

    def forward(self, x, labels):
        features = self.encoder(x.to("cuda:0")).tanh()
        losses = [task.loss(features, labels[name]) for name, task in self.tasks.items()]
        return torch.stack(losses).mean()


model = MultiTask(8, {"topic": Task(8, 4, "cuda:0"), "tone": Task(8, 3, "cuda:1")})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
labels = {"topic": torch.randint(0, 4, (5,)), "tone": torch.randint(0, 3, (5,))}
model(torch.randn(5, 6), labels).backward()
optimizer.step()
