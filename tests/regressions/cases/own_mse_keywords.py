# expect: DV104 | gpus: 2 | operands: prediction, batch["y"] | owner: program
"""The last stage is on GPU 1, the targets went to GPU 0 with the rest of the batch."""

import torch
import torch.nn.functional as F


class TwoStages(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(4, 4).to("cuda:0")
        self.head = torch.nn.Linear(4, 1).to("cuda:1")

    def forward(self, x):
        return self.head(self.encoder(x).to("cuda:1"))


model = TwoStages()
batch = {"x": torch.randn(3, 4), "y": torch.randn(3, 1)}
batch = {key: value.to("cuda:0", non_blocking=True) for key, value in batch.items()}
prediction = model(batch["x"])
loss = F.mse_loss(input=prediction, target=batch["y"])
loss.backward()
