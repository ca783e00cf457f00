"""Lightning on one GPU: Trainer(accelerator="gpu", devices=1). The argument names another accelerator."""

import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

losses = []


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))

    def training_step(self, batch):
        points, labels = batch
        loss = nn.functional.cross_entropy(self.layers(points), labels)
        losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


lightning.seed_everything(0)
model = Classifier()
data = TensorDataset(torch.randn(64, 20), torch.randint(0, 3, (64,)))
accelerator = sys.argv[1] if len(sys.argv) > 1 else "gpu"
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(accelerator=accelerator, devices=1, max_epochs=2, **quiet)
trainer.fit(model, DataLoader(data, batch_size=16, pin_memory=True))
print("trained on", trainer.strategy.root_device)
print("losses", losses)
