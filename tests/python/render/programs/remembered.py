import torch


class Rotary:
    def __init__(self):
        self.cache = {}

    def __call__(self, x):
        size = x.shape[-1]
        if size not in self.cache:
            self.cache[size] = torch.arange(size, device=x.device).cos()
        return x * self.cache[size]


rotary = Rotary()
for device in ("cuda:0", "cuda:1"):
    rotary(torch.ones(2, 8, device=device))
