# expect: DV108 | gpus: 1 | operands: self.prototypes, z | owner: program
"""Prototypes of a Lightning module are made in setup() and are a plain attribute."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ProtoNet(L.LightningModule):
    def __init__(self, dim=8, classes=3):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = nn.Sequential(nn.Linear(5, dim), nn.ReLU(), nn.Linear(dim, dim))

    def setup(self, stage):
        self.prototypes = torch.randn(self.hparams.classes, self.hparams.dim)

    def training_step(self, batch, _):
        x, y = batch
        z = self.backbone(x)
        distances = torch.cdist(z, self.prototypes)
        return nn.functional.cross_entropy(-distances, y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = TensorDataset(torch.randn(12, 5), torch.randint(0, 3, (12,)))
trainer = L.Trainer(
    accelerator="gpu",
    devices=1,
    max_epochs=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(ProtoNet(), DataLoader(data, batch_size=4))
