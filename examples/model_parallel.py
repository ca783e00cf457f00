"""A network cut in two by hand: the first half on one GPU, the second on the next."""

import torch
from torch import nn

first, second = ("cuda:0", "cuda:1") if torch.cuda.device_count() > 1 else ("cpu", "cpu")


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()).to(first)
        self.back = nn.Sequential(nn.Flatten(), nn.Linear(16 * 8 * 8, 64), nn.GELU(), nn.Linear(64, 10)).to(second)

    def forward(self, images):
        return self.back(self.front(images.to(first)).to(second))


torch.manual_seed(0)
model = Halves()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
images, labels = torch.randn(32, 3, 8, 8), torch.randint(0, 10, (32,))

losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels.to(second))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

print("front", next(model.front.parameters()).device, "back", next(model.back.parameters()).device)
print("losses", losses)
