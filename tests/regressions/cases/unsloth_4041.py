# expect: DV104 | gpus: 2 | operands: shift_logits, shift_labels | owner: program
"""Labels are shifted on the batch's GPU."""

import torch

embed = torch.nn.Embedding(16, 4).to("cuda:0")
head = torch.nn.Linear(4, 16).to("cuda:1")


def forward(input_ids, labels):
    logits = head(embed(input_ids).to("cuda:1"))
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    return torch.nn.functional.cross_entropy(shift_logits.view(-1, 16), shift_labels.view(-1))


ids = torch.tensor([[1, 2, 3]], device="cuda:0")
forward(ids, ids)
