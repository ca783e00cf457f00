# expect: DV111 | gpus: 1 | operands: data, index | owner: torch.set_default_device
"""The default device moves the index, the data was made before."""

import torch

data = torch.arange(6)
torch.set_default_device("cuda")


def pick():
    index = torch.tensor([0, 2])
    return data[index]


pick()
