# expect: DV103 | gpus: 1 | operands: scores, batch["attention_mask"] | owner: DataLoader
"""Of a batch in a dict, the ids are moved and the mask is forgotten."""

import torch
from torch.utils.data import DataLoader


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"input_ids": torch.tensor([1, 2, index]), "attention_mask": torch.tensor([1, 1, 0])}


embed = torch.nn.Embedding(8, 1).to("cuda")
for batch in DataLoader(Texts(), batch_size=2):
    ids = batch["input_ids"].to("cuda")
    scores = embed(ids).squeeze(-1)
    scores = scores * batch["attention_mask"]
