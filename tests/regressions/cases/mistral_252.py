# expect: DV103 | gpus: 1 | operands: model(tokens), batch["mask"] | owner: program
"""A dictionary of a batch: one field was moved, the other was not."""

import torch

model = torch.nn.Embedding(8, 4).cuda()


def batches():
    yield {"tokens": torch.tensor([1, 2]), "mask": torch.ones(2, 1)}


for batch in batches():
    tokens = batch["tokens"].cuda()
    out = model(tokens) * batch["mask"]
