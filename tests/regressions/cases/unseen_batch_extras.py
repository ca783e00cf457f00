# expect: DV103 | gpus: 1 | operands: batch.extras["pixels"].flatten(1), self.image.weight | owner: DataLoader
"""A batch class moves its tensors, but not those in its dict of extras."""

from dataclasses import dataclass, field, fields

import torch
from torch import nn
from torch.utils.data import DataLoader


@dataclass
class Batch:
    tokens: torch.Tensor
    target: torch.Tensor
    extras: dict = field(default_factory=dict)

    def to(self, device):
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {k: v.to(device) if torch.is_tensor(v) else v for k, v in moved.items()}
        return Batch(**moved)


def collate(rows):
    return Batch(
        torch.stack([r[0] for r in rows]),
        torch.tensor([r[1] for r in rows]),
        {"pixels": torch.stack([r[2] for r in rows])},
    )


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.image, self.out = nn.Embedding(20, 8), nn.Linear(12, 8), nn.Linear(8, 2)

    def forward(self, batch):
        image = self.image(batch.extras["pixels"].flatten(1))
        return self.out(self.text(batch.tokens).mean(1) + image)


rows = [(torch.randint(0, 20, (5,)), i % 2, torch.rand(3, 4)) for i in range(4)]
model = Fusion().cuda()
for batch in DataLoader(rows, batch_size=2, collate_fn=collate):
    batch = batch.to("cuda")
    nn.functional.cross_entropy(model(batch), batch.target).backward()
