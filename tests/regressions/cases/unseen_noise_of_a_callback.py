# expect: DV103 | gpus: 2 | operands: z, self.layer.weight | owner: program
"""A callback keeps noise that it made on the CPU, and gives it to the module that Lightning has moved."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, z):
        return self.layer(z)

    def training_step(self, batch, _):
        return self(batch).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Preview(L.Callback):
    def __init__(self):
        self.noise = torch.randn(2, 4)

    def on_train_epoch_end(self, trainer, pl_module):
        pl_module(self.noise)


preview = Preview()
trainer = L.Trainer(max_epochs=1, devices=1, accelerator="gpu", callbacks=[preview], logger=False,
                    enable_checkpointing=False, enable_progress_bar=False)  # fmt: skip
trainer.fit(Net(), DataLoader(torch.ones(4, 4), batch_size=2))
