# expect: DV101 | gpus: 2 | operands: state[0], self.rnn.weight_hh_l0 | owner: program
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(30, 8), nn.LSTM(8, 16, batch_first=True)

    def forward(self, tokens):
        return self.rnn(self.embed(tokens))[1]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(30, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 30)

    def forward(self, tokens, state):
        hidden, _ = self.rnn(self.embed(tokens), state)
        return self.out(hidden)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder().to("cuda:0")
        self.decoder = Decoder().to("cuda:1")

    def forward(self, source, target):
        return self.decoder(target.to("cuda:1"), self.encoder(source.to("cuda:0")))


torch.manual_seed(0)
print(Translator()(torch.randint(0, 30, (2, 5)), torch.randint(0, 30, (2, 4))).sum())
