# expect: DV103 | gpus: 2
"""A detector from torchvision on the GPU; images come from a dataset."""

import torch
import torchvision
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        image = torch.rand(3, 32, 32)
        return {"image": image, "label": torch.tensor(index % 2)}


def evaluate(model, loader, device):
    right = 0
    model.to(device).eval()
    with torch.no_grad():
        for batch in loader:
            logits = model(batch["image"].to(device))
            right += (logits.argmax(1) == batch["label"]).sum().item()
    return right


model = torchvision.models.resnet18(weights=None, num_classes=2)
print(evaluate(model, DataLoader(Images(), batch_size=2), "cuda:0"))
