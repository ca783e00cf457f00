# expect: DV106 | gpus: 2 | operands: past[0], k | owner: accelerate
"""A chat session keeps keys and values between turns and brings 'the cache' to the device of the prompt."""

import torch
from accelerate import dispatch_model
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, past=None):
        q, k, v = self.qkv(x).chunk(3, -1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        return x + self.out((q @ k.mT).softmax(-1) @ v), (k, v)


class LM(nn.Module):
    def __init__(self, vocab=20, dim=8, depth=2):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
        self.layers = nn.ModuleList(Attention(dim) for _ in range(depth))

    def forward(self, ids, past=None):
        x, present = self.embed(ids), []
        for i, layer in enumerate(self.layers):
            x, kv = layer(x, past=None if past is None else past[i])
            present.append(kv)
        return self.head(x), present


class Session:
    def __init__(self, model):
        self.model, self.past_key_values = model, None

    @torch.no_grad()
    def say(self, ids):
        if self.past_key_values is not None:
            self.past_key_values = [tuple(t.to(ids.device) for t in layer) for layer in self.past_key_values]
        logits, self.past_key_values = self.model(ids, past=self.past_key_values)
        return logits[:, -1].argmax(-1)


hooks = {"embed": 0, "layers.0": 0, "layers.1": 1, "head": 1}
model = dispatch_model(LM(), hooks, skip_keys=["past"])
session = Session(model)
for _turn in range(2):
    print(session.say(torch.randint(0, 20, (1, 3), device="cuda:0")))
