# expect: DV103 | gpus: 1 | operands: state, encoder.weight_hh_l0 | owner: program
"""The first state of a recurrent network is made on the CPU, beside the call; its weights have names of their own."""

import torch
from torch import nn


def encode(encoder, batch):
    state = torch.zeros(1, 4, 16)
    output, _ = encoder(batch, state)
    return output[:, -1]


encoder = nn.GRU(8, 16, batch_first=True).cuda()
print(encode(encoder, torch.randn(4, 5, 8, device="cuda")).shape)
