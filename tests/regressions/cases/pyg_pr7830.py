# expect: DV102 | gpus: 1 | operands: table, index | owner: program
"""An index of the GPU for a table that was made on the host."""

import torch


def lookup(index):
    table = torch.arange(10)
    return table[index]


lookup(torch.tensor([1, 2], device="cuda"))
