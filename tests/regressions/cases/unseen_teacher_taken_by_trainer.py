# expect: DV101 | gpus: 2 | operands: x.to(TEACHER) | owner: program
"""A teacher was put on the second GPU; it is part of the LightningModule, which the trainer moves to the first."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

TEACHER = "cuda:1"


class Distiller(L.LightningModule):
    def __init__(self, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = nn.Linear(4, 2)

    def training_step(self, x, batch_idx):
        with torch.no_grad():
            wanted = self.teacher(x.to(TEACHER)).to(x.device)
        return (self.student(x) - wanted).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.student.parameters(), lr=0.1)


teacher = nn.Linear(4, 2).to(TEACHER)
trainer = L.Trainer(accelerator="gpu", devices=[0], max_epochs=1, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
trainer.fit(Distiller(teacher), DataLoader(torch.randn(8, 4), batch_size=4))
