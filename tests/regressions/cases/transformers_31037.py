# expect: DV104 | gpus: 2 | operands: logits, labels | owner: program
"""A classifier's loss over two GPUs, through nn.CrossEntropyLoss."""

import torch


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.score = torch.nn.Linear(4, 3)

    def forward(self, x, labels):
        logits = self.score(self.body(x).to(self.score.weight.device))
        loss_fct = torch.nn.CrossEntropyLoss()
        return loss_fct(logits, labels)


model = Classifier()
model.body.to("cuda:0")
model.score.to("cuda:1")
model(torch.randn(2, 4, device="cuda:0"), labels=torch.tensor([0, 1], device="cuda:0"))
