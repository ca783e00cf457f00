"""State, blocks, totals and caches over several GPUs."""

import torch
from accelerate import dispatch_model
from torch import nn
from transformers import AutoModelForCausalLM, pipeline


class Rotary:
    def __init__(self):
        self.by_length = {}
        self.by_both = {}

    def one_for_all(self, n, device):
        if n not in self.by_length:
            self.by_length[n] = torch.arange(n, device=device)  # DV113
        return self.by_length[n]

    def one_for_each(self, n, device):
        if (n, device) not in self.by_both:
            self.by_both[n, device] = torch.arange(n, device=device)
        return self.by_both[n, device]


class Remembered:
    table = None

    @classmethod
    def get(cls, n, device):
        if cls.table is None or cls.table.shape[0] < n:
            cls.table = torch.zeros(n, device=device)  # DV113
        return cls.table[:n]

    @classmethod
    def get_here(cls, n, device):
        if cls.table is None or cls.table.device != device:
            cls.table = torch.zeros(n, device=device)
        return cls.table[:n]


rotary = Rotary()
for gpu in range(2):
    x = torch.randn(4, 6, device=f"cuda:{gpu}")
    first = x + rotary.one_for_all(x.shape[1], x.device)
    second = x + rotary.one_for_each(x.shape[1], x.device)
    third = x + Remembered.get(x.shape[1], x.device)
    fourth = x + Remembered.get_here(x.shape[1], x.device)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.kv = nn.Linear(d, 2 * d)

    def forward(self, x, past):
        k, v = self.kv(x).chunk(2, dim=-1)
        k = torch.cat([past[0], k], 1)  # DV106
        return k, v


layers = nn.ModuleList([Layer(4) for _ in range(4)])
for i, layer in enumerate(layers):
    layer.to(f"cuda:{i // 2}")
for i, layer in enumerate(layers):
    here = f"cuda:{i // 2}"
    x = torch.randn(1, 2, 4, device=here)
    layer(x, [torch.zeros(1, 0, 4, device=here) for _ in range(2)])
    layer(x, [torch.zeros(1, 0, 4, device="cuda:0") for _ in range(2)])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        return self.norm(x) + self.mlp(x)  # DV107


dispatch_model(Block(), {"norm": 0, "mlp": 1})(torch.randn(2, 4))
dispatch_model(Block(), {"norm": 1, "mlp": 1})(torch.randn(2, 4))

total = torch.zeros(1)
count = torch.zeros(1, device="cuda")
for _ in range(2):
    loss = nn.functional.mse_loss(torch.ones(3).cuda(), torch.ones(3).cuda())
    total += loss.detach()  # DV104
    count += loss.detach()
models = [nn.Linear(4, 1).to(f"cuda:{i}") for i in range(2)]
losses = [model(torch.randn(2, 4).to(f"cuda:{i}")).mean() for i, model in enumerate(models)]
total = sum(losses)  # DV104
total = sum([each.to("cuda:0") for each in losses])

spread = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
generate = pipeline("text-generation", model=spread, device=0)  # DV203
generate = pipeline("text-generation", model=spread)

by_hand = {"model.embed_tokens": 0, "model.norm": 1, "lm_head": 1, **{f"model.layers.{i}": i // 2 for i in range(4)}}
model = AutoModelForCausalLM.from_pretrained("llama", device_map=by_hand)  # DV105
model = AutoModelForCausalLM.from_pretrained("llama", device_map={**by_hand, "model.rotary_emb": 0})
old = {"model.decoder.embed_tokens": 0, "model.decoder.embed_positions": 0, "model.decoder.layers.0": 0}
model = AutoModelForCausalLM.from_pretrained("opt", device_map={**old, "model.decoder.layers.1": 1, "lm_head": 0})


class LoraLinear(nn.Module):
    def __init__(self, base, device=None):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.zeros(4, 4, device=device))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a  # DV109


late = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to("cuda:1")
late[1] = LoraLinear(late[1])
late(torch.ones(2, 4, device="cuda:1"))
late[1] = LoraLinear(nn.Linear(4, 4).to("cuda:1"), "cuda:1")
late(torch.ones(2, 4, device="cuda:1"))
