# expect: DV104 | gpus: 1 | operands: total_loss, loss | owner: program
"""An epoch's running loss is kept in a CPU tensor."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=1e-2, device="cuda:0", accumulate=2):
        self.device, self.accumulate = device, accumulate
        self.model = model.to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def loss(self, batch):
        x, y = (t.to(self.device, non_blocking=True) for t in batch)
        return nn.functional.mse_loss(self.model(x).squeeze(-1), y)

    def epoch(self, loader):
        total_loss = torch.zeros(1)
        for i, batch in enumerate(loader):
            loss = self.loss(batch) / self.accumulate
            loss.backward()
            total_loss += loss.detach()
            if (i + 1) % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
        return total_loss.item() / len(loader)


data = TensorDataset(torch.randn(16, 4), torch.randn(16))
trainer = Trainer(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
print(trainer.epoch(DataLoader(data, batch_size=4)))
