# expect: DV101 | gpus: 2 | operands: hidden_there, k | owner: program
"""The padding mask of an encoder's input is made on its GPU; torch makes the attention mask of it on the decoder's."""

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8).to("cuda:0")
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).to("cuda:1")

    def forward(self, source, lengths, target):
        steps = torch.arange(source.shape[1], device="cuda:0")
        hidden_there = steps >= lengths[:, None]
        memory = self.encoder(source).to("cuda:1")
        return self.decoder(target, memory, memory_key_padding_mask=hidden_there)


lengths = torch.tensor([3, 5], device="cuda:0")
model = Translator()
model(torch.randn(2, 5, 8, device="cuda:0"), lengths, torch.randn(2, 4, 8, device="cuda:1")).sum().backward()
