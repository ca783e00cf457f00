"""torch.nn.DataParallel: one network copied to every GPU, each takes its part of the batch."""

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64), nn.Tanh(), nn.Linear(64, 3))

    def forward(self, points):
        print(f"  {len(points)} points on {points.device}")
        return self.layers(points)


torch.manual_seed(0)
model = nn.DataParallel(Network()).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
points, labels = torch.randn(32, 20), torch.randint(0, 3, (32,))

losses = []
for step in range(3):
    print("step", step)
    optimizer.zero_grad()
    outputs = model(points.to(device))
    loss = nn.functional.cross_entropy(outputs, labels.to(device))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

print("outputs gathered on", outputs.device)
print("losses", losses)
