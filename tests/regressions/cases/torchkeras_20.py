# expect: DV104 | gpus: 2 | operands: shift_logits, shift_labels | owner: program
"""torchkeras 20: the remote code computes the loss beside the last stage, the labels stay with the batch."""

import torch
from accelerate import dispatch_model
from torch.nn import CrossEntropyLoss


class ChatGLM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(8, 4)
        self.output_layer = torch.nn.Linear(4, 8)

    def forward(self, input_ids, labels=None):
        lm_logits = self.output_layer(self.embedding(input_ids))
        shift_logits = lm_logits[..., :-1, :].contiguous()
        shift_labels = labels[..., 1:].contiguous()
        loss_fct = CrossEntropyLoss(ignore_index=-100)
        return loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))


class StepRunner:
    def __init__(self, net):
        self.net = net

    def __call__(self, batch):
        return self.net(**batch)


net = dispatch_model(ChatGLM(), {"embedding": 0, "output_layer": 1}, main_device=0)
ids = torch.tensor([[1, 2, 3]]).to("cuda:0")
StepRunner(net)({"input_ids": ids, "labels": ids.clone()})
