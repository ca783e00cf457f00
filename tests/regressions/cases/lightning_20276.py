# expect: DV201 | gpus: 2 | operands: self.text.bias, self.vision(x), self.text.weight | owner: lightning
"""Lightning 20276: a model that arrives with hooks goes into a LightningModule, whose strategy moves it."""

import lightning
import torch
from accelerate import dispatch_model
from torch.utils.data import DataLoader


class Idefics(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision, self.text = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.text(self.vision(x))


class Tuned(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = dispatch_model(Idefics(), {"vision": 0, "text": 1}, main_device=0)

    def training_step(self, batch, index):
        return self.model(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


trainer = lightning.Trainer(accelerator="gpu", devices=[0], max_steps=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
trainer.fit(Tuned(), DataLoader(torch.randn(4, 4), batch_size=2))
