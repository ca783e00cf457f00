# expect: DV101 | gpus: 2 | operands: eye, self.out(pooled).view(-1, self.size, self.size) | owner: -
"""A module remembers the device it was built on; DataParallel copies that value to the replica of the other GPU."""

import torch
from torch import nn


class Transform(nn.Module):
    def __init__(self, size, device):
        super().__init__()
        self.size, self.device = size, device
        self.conv = nn.Conv1d(size, 16, 1)
        self.out = nn.Linear(16, size * size)
        self.to(device)

    def forward(self, points):
        pooled = torch.relu(self.conv(points)).amax(-1)
        eye = torch.eye(self.size, device=self.device)
        return self.out(pooled).view(-1, self.size, self.size) + eye


class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.transform = Transform(3, device)
        self.head = nn.Linear(3, 4).to(device)

    def forward(self, points):
        moved = torch.bmm(self.transform(points), points)
        return self.head(moved.amax(-1))


torch.manual_seed(0)
model = nn.DataParallel(Net(torch.device("cuda:0")), device_ids=[0, 1])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    points, labels = torch.rand(8, 3, 20, device="cuda:0"), torch.randint(4, (8,), device="cuda:0")
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
