# expect: DV103 | gpus: 1 | operands: self.tp, tp | owner: torchmetrics
"""A metric of torchmetrics that nobody moved."""

import torch
from torch import nn
from torchmetrics.classification import MulticlassAccuracy

model = nn.Linear(10, 3).to("cuda")
accuracy = MulticlassAccuracy(num_classes=3, validate_args=False)
for x, y in [(torch.randn(4, 10), torch.randint(0, 3, (4,)))]:
    x, y = x.to("cuda"), y.to("cuda")
    accuracy.update(model(x).argmax(-1), y)
