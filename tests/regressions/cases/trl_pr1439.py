# expect: DV104 | gpus: 2 | operands: logits.log_softmax(-1).flatten(0, 1), labels | owner: program
"""trl 1439: a mask of the batch's device meets per-token values of the head's."""

import torch

embed = torch.nn.Embedding(16, 4).to("cuda:0")
head = torch.nn.Linear(4, 16).to("cuda:1")


def compute_loss(input_ids, labels):
    logits = head(embed(input_ids).to("cuda:1"))
    return torch.nn.functional.nll_loss(logits.log_softmax(-1).flatten(0, 1), labels.flatten())


ids = torch.tensor([[1, 2, 3]], device="cuda:0")
compute_loss(ids, ids)
