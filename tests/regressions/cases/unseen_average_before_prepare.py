# expect: DV110 | gpus: 2 | operands: self.shadow[name].mul_(self.decay), value | owner: program
"""An average copies the weights before accelerate moves the model."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Average:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def update(self, model):
        for name, value in model.state_dict().items():
            self.shadow[name].mul_(self.decay).add_(value, alpha=1 - self.decay)


accelerator = Accelerator()
model = nn.Linear(8, 2)
average = Average(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(8, 8), torch.randint(0, 2, (8,))), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    accelerator.backward(nn.functional.cross_entropy(model(x), y))
    optimizer.step()
    average.update(accelerator.unwrap_model(model))
