# expect: DV106 | gpus: 2 | operands: beam_idx, keys | owner: program
"""The order of the beams comes from the logits, on the last stage; every stage keeps the keys of its own layers."""

import torch
from torch import nn

STAGES = ["cuda:0", "cuda:1"]


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.key, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, past):
        keys = self.key(x) if past is None else torch.cat([past, self.key(x)], dim=1)
        return x + self.out(keys.mean(1, keepdim=True)), keys


class Decoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.words = nn.Embedding(words, width).to(STAGES[0])
        self.layers = nn.ModuleList(Layer(width).to(device) for device in STAGES)
        self.head = nn.Linear(width, words).to(STAGES[-1])

    def forward(self, ids, cache=None):
        x, kept = self.words(ids.to(STAGES[0])), []
        for number, layer in enumerate(self.layers):
            x, keys = layer(x.to(STAGES[number]), None if cache is None else cache[number])
            kept.append(keys)
        return self.head(x), kept


def reorder(cache, beam_idx):
    return [keys.index_select(0, beam_idx) for keys in cache]


@torch.no_grad()
def beam_search(model, prompt, beams, steps):
    ids = prompt.to(STAGES[-1]).repeat_interleave(beams, dim=0)
    logits, cache = model(ids)
    for _ in range(steps):
        _, flat = logits[:, -1].log_softmax(-1).view(1, -1).topk(beams, dim=1)
        words = logits.shape[-1]
        beam_idx, token = (flat // words).flatten(), (flat % words).flatten()
        ids = torch.cat([ids[beam_idx], token[:, None]], dim=1)
        cache = reorder(cache, beam_idx)
        logits, cache = model(token[:, None], cache)
    return ids


torch.manual_seed(0)
print(beam_search(Decoder(12, 8), torch.tensor([[1, 2, 3]]), beams=2, steps=3))
