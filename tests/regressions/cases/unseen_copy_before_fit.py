# expect: DV105 | gpus: 1 | operands: slow, fast | owner: program
"""A callback copies the network in `setup`, before Lightning moves the module to its GPU."""

import copy

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Slow(L.Callback):
    def setup(self, trainer, pl_module, stage):
        self.net = copy.deepcopy(pl_module.net).requires_grad_(False)

    @torch.no_grad()
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        rate = 0.9
        for slow, fast in zip(self.net.parameters(), pl_module.net.parameters(), strict=True):
            slow.mul_(rate).add_(fast.detach(), alpha=1 - rate)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        return self.net(x).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


trainer = L.Trainer(
    max_steps=2,
    accelerator="gpu",
    devices=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Slow()],
)
trainer.fit(Net(), DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4))
