# expect: DV103 | gpus: 1 | operands: similarity, batch["ids"][:, None] | owner: DataLoader
"""Of a batch in a dict, the features are moved and the ids that choose among the similarities are not."""

import torch
from torch.utils.data import DataLoader

rows = [{"ids": i, "x": torch.randn(4)} for i in range(4)]
bank = torch.randn(4, 4).cuda()
for batch in DataLoader(rows, batch_size=2):
    x = batch["x"].cuda()
    similarity = x @ bank.T
    similarity.gather(1, batch["ids"][:, None])
