# expect: DV101 | gpus: 2 | operands: self.vectors, draw | owner: program
"""A memory bank on another GPU draws its negatives on the device of the features."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)

NET_DEVICE = "cuda:0"
BANK_DEVICE = "cuda:1"


class IndexedImages(Dataset):
    def __init__(self, n=256):
        self.images = torch.rand(n, 3, 16, 16)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], i


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.proj = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.proj(self.features(x)), dim=-1)


class MemoryBank:
    """One unit vector per training image, updated with momentum."""

    def __init__(self, size, dim, device, momentum=0.5):
        self.momentum = momentum
        self.vectors = F.normalize(torch.randn(size, dim, device=device), dim=-1)

    def positives(self, index):
        return self.vectors[index]

    def negatives(self, feats, k):
        draw = torch.randint(len(self.vectors), (feats.size(0), k), device=feats.device)
        return self.vectors[draw]

    @torch.no_grad()
    def update(self, index, feats):
        feats = feats.to(self.vectors.device)
        mixed = self.momentum * self.vectors[index] + (1 - self.momentum) * feats
        self.vectors[index] = F.normalize(mixed, dim=-1)


def nce_loss(feats, pos, neg, temperature=0.1):
    l_pos = (feats * pos).sum(-1, keepdim=True)
    l_neg = torch.einsum("bd,bkd->bk", feats, neg)
    logits = torch.cat([l_pos, l_neg], dim=1) / temperature
    target = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
    return F.cross_entropy(logits, target)


def main():
    data = IndexedImages()
    loader = DataLoader(data, batch_size=64, shuffle=True)
    encoder = Encoder(24).to(NET_DEVICE)
    bank = MemoryBank(len(data), 24, BANK_DEVICE)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9)

    for step, (images, index) in enumerate(loader):
        feats = encoder(images.to(NET_DEVICE))
        pos = bank.positives(index).to(NET_DEVICE)
        neg = bank.negatives(feats, k=32).to(NET_DEVICE)
        loss = nce_loss(feats, pos, neg)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bank.update(index, feats.detach())
        print(f"step {step}  nce {loss.item():.4f}")


if __name__ == "__main__":
    main()
