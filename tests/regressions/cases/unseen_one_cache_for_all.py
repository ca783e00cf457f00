# expect: DV106 | gpus: 2 | operands: k, q | owner: program
"""nanoGPT-like generation: one preallocated KV cache for all layers, the layers on two GPUs."""

import torch
from torch import nn


class KVCache:
    def __init__(self, n_layer, batch, length, dim, device):
        self.k = torch.zeros(n_layer, batch, length, dim, device=device)
        self.v = torch.zeros(n_layer, batch, length, dim, device=device)
        self.pos = 0

    def update(self, i, k, v):
        t = k.shape[1]
        self.k[i, :, self.pos : self.pos + t] = k
        self.v[i, :, self.pos : self.pos + t] = v
        return self.k[i, :, : self.pos + t], self.v[i, :, : self.pos + t]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, i, cache):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        k, v = cache.update(i, k, v)
        att = (q @ k.transpose(-2, -1)).softmax(-1)
        return x + self.proj(att @ v)


class GPT(nn.Module):
    def __init__(self, vocab, dim, n_layer):
        super().__init__()
        self.wte, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(n_layer))

    def parallelize(self, gpus):
        self.wte.to(gpus[0])
        for i, block in enumerate(self.blocks):
            block.to(gpus[i * len(gpus) // len(self.blocks)])
        self.head.to(gpus[-1])
        return self

    @torch.no_grad()
    def generate(self, ids, new):
        cache = KVCache(len(self.blocks), ids.shape[0], ids.shape[1] + new, self.wte.embedding_dim, ids.device)
        step = ids
        for _ in range(new):
            x = self.wte(step)
            for i, block in enumerate(self.blocks):
                x = block(x.to(block.proj.weight.device), i, cache)
            cache.pos += step.shape[1]
            step = self.head(x[:, -1:]).argmax(-1).to(ids.device)
            ids = torch.cat([ids, step], 1)
        return ids


model = GPT(30, 8, 4).parallelize(["cuda:0", "cuda:1"])
print(model.generate(torch.randint(0, 30, (2, 4), device="cuda:0"), 3).shape)
