import torch
import torch.nn.functional as F


def embed(ids, table):
    return F.embedding(ids, weight=table)


embed(torch.zeros(3, dtype=torch.long, device="cuda:0"), torch.ones(5, 4, device="cuda:1"))
