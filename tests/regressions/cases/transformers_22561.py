# expect: DV104 | gpus: 2 | operands: logits, labels | owner: program
"""transformers 22561: labels are not on the logits' GPU in most model classes."""

import torch
from accelerate import dispatch_model
from torch.nn import CrossEntropyLoss


class TokenClassifier(torch.nn.Module):
    def __init__(self, num_labels=3):
        super().__init__()
        self.num_labels = num_labels
        self.base = torch.nn.Linear(4, 4)
        self.classifier = torch.nn.Linear(4, num_labels)

    def forward(self, inputs_embeds, labels=None, return_dict=True):
        logits = self.classifier(self.base(inputs_embeds))
        loss = None
        if labels is not None:
            loss = CrossEntropyLoss()(logits.view(-1, self.num_labels), labels.view(-1))
        return {"loss": loss, "logits": logits}


model = dispatch_model(TokenClassifier(), {"base": 0, "classifier": 1}, main_device=0)
batch = {"inputs_embeds": torch.randn(1, 2, 4), "labels": torch.tensor([[0, 2]])}
model(**{name: value.to("cuda:0") for name, value in batch.items()})
