# expect: DV102 | gpus: 1 | operands: padding, tokens | owner: program
"""Padding is created on the host and put in front of the tokens."""

import torch


def prepend(tokens):
    padding = torch.full((tokens.size(0), 1), 1)
    return torch.cat((padding, tokens), dim=1)


prepend(torch.zeros(2, 3, dtype=torch.long, device="cuda"))
