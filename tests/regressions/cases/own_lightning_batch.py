# expect: DV103 | gpus: 1 | operands: batch.x, self.lin.weight | owner: program
"""Lightning moves tensors, dicts, lists and whatever has .to; this batch has none."""

import lightning
import torch
from torch.utils.data import DataLoader


class Batch:
    def __init__(self, rows):
        self.x = torch.stack(rows)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 1, bias=False)

    def training_step(self, batch, index):
        return self.lin(batch.x).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
trainer.fit(Module(), DataLoader(torch.randn(4, 4), batch_size=2, collate_fn=Batch))
