# expect: DV103 | gpus: 1 | operands: points, self.net.weight | owner: program
"""A collate function returns an object of a plain class, which Lightning cannot move."""

import lightning
import torch
from torch import nn


class Cloud:
    def __init__(self, points, labels):
        self.points, self.labels = points, labels


def collate(items):
    return Cloud(torch.stack([points for points, _ in items]), torch.tensor([label for _, label in items]))


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 2)

    def training_step(self, batch, number):
        points = batch.points
        return nn.functional.cross_entropy(self.net(points).mean(1), batch.labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


items = [(torch.randn(5, 3), n % 2) for n in range(4)]
trainer = lightning.Trainer(
    accelerator="gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)  # fmt: skip
trainer.fit(Classifier(), torch.utils.data.DataLoader(items, batch_size=2, collate_fn=collate))
