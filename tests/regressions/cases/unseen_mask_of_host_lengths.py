# expect: DV103 | gpus: 1 | operands: scores, pad_mask(lengths, scores.size(1)) | owner: program
"""A packed sequence gives its lengths back on the CPU, and the mask is made beside them."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def pad_mask(lengths, longest):
    steps = torch.arange(longest, device=lengths.device)
    return steps.unsqueeze(0) >= lengths.unsqueeze(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 6, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = self.rnn(packed)
        return pad_packed_sequence(states, batch_first=True)


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(6, 1)

    def forward(self, states, lengths):
        scores = self.score(states).squeeze(-1)
        scores = scores.masked_fill(pad_mask(lengths, scores.size(1)), float("-inf"))
        return (scores.softmax(-1).unsqueeze(-1) * states).sum(1)


encoder, pooling = Encoder().cuda(), Pooling().cuda()
x, lengths = torch.randn(3, 5, 4, device="cuda"), torch.tensor([5, 2, 3], device="cuda")
print(pooling(*encoder(x, lengths)).sum().item())
