# expect: DV108 | gpus: 2 | operands: self.weight * self.priors, logits | owner: program
"""A criterion keeps a tensor on what was the current GPU when it was built; Lightning takes another GPU then."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Adjusted(nn.Module):
    def __init__(self, priors):
        super().__init__()
        self.weight = 0.5
        self.priors = torch.as_tensor(priors).log().cuda()

    def forward(self, logits, labels):
        return nn.functional.cross_entropy(logits + self.weight * self.priors, labels)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)
        self.criterion = Adjusted([0.5, 0.3, 0.2])

    def training_step(self, batch, _):
        x, labels = batch
        return self.criterion(self.net(x), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
data = TensorDataset(torch.rand(8, 6), torch.randint(3, (8,)))
quiet = {f"enable_{name}": False for name in ("checkpointing", "progress_bar", "model_summary")} | {"logger": False}
trainer = lightning.Trainer(accelerator="gpu", devices=[1], max_steps=2, **quiet)
trainer.fit(Classifier(), DataLoader(data, batch_size=4))
