# expect: DV105 | gpus: 1 | operands: x + self.shift, self.mean | owner: program
"""Lightning 20258: ZeRO-3's init patches factories of torch; a buffer from another one stays on the host."""

import torch
from torch import tensor


class Init:
    """The shape of deepspeed.zero.Init: factories make on the GPU, module.to is not called."""

    def __enter__(self):
        self.zeros = torch.zeros
        torch.zeros = lambda *size, **settings: self.zeros(*size, **{"device": "cuda:0", **settings})

    def __exit__(self, *_):
        torch.zeros = self.zeros


class Normalize(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", tensor([0.1, 0.2, 0.3, 0.4]))
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return x + self.shift - self.mean


with Init():
    model = Normalize()
model(torch.randn(2, 4, device="cuda:0"))
