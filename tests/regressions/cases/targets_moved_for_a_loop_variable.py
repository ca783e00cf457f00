# expect: DV103 | gpus: 2 | operands: t["boxes"] | owner: program
import torch
from torch import nn
from torch.utils.data import DataLoader


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, images, targets):
        loss = 0
        for out, t in zip(self.head(images), targets, strict=True):
            loss = loss + (out - t["boxes"]).abs().mean()
        return loss


def collate(batch):
    return torch.stack([image for image, _ in batch]), [target for _, target in batch]


def train(model, loader, device):
    for images, targets in loader:
        images = images.to(device)
        for t in targets:
            t = {k: v.to(device) for k, v in t.items()}
        model(images, targets).backward()


data = [(torch.randn(8), {"boxes": torch.rand(4), "labels": torch.ones(4)}) for _ in range(4)]
train(Detector().to("cuda:1"), DataLoader(data, batch_size=2, collate_fn=collate), "cuda:1")
