# expect: DV101 | gpus: 2 | operands: attn_mask, q | owner: program
"""Encoder layers on two GPUs by hand: the states hop, the padding mask does not."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, dim, depth, devices):
        super().__init__()
        self.plan = [devices[i * len(devices) // depth] for i in range(depth)]
        self.embed = nn.Embedding(vocab, dim, padding_idx=0, device=devices[0])
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 2 * dim, batch_first=True, norm_first=True, device=d) for d in self.plan
        )

    def forward(self, tokens):
        mask = tokens.eq(0)
        x = self.embed(tokens)
        for device, layer in zip(self.plan, self.layers, strict=False):
            x = layer(x.to(device), src_key_padding_mask=mask)
        return x.masked_fill(mask.to(x.device)[..., None], 0).mean(1)


def pad(sequences):
    return nn.utils.rnn.pad_sequence([torch.tensor(s) for s in sequences], batch_first=True)


encoder = Encoder(30, 8, 4, ["cuda:0", "cuda:1"])
tokens = pad([[4, 8, 2], [7, 1], [5, 5, 9, 3]]).to("cuda:0")
print(encoder(tokens).shape)
