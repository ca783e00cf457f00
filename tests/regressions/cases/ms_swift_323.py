# expect: DV107 | gpus: 4 | operands: x, self.attn(self.ln_1(x)) | owner: accelerate
"""ms-swift 323: the map cuts one block of the vision transformer."""

import torch
from accelerate import dispatch_model


class VisualAttentionBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)
        self.ln_2, self.mlp = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class Visual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Linear(4, 4)
        self.resblocks = torch.nn.ModuleList([VisualAttentionBlock(), VisualAttentionBlock()])

    def forward(self, x):
        x = self.conv1(x)
        for block in self.resblocks:
            x = block(x)
        return x


where = {"conv1": 0, "resblocks.0": 1, "resblocks.1.ln_1": 2, "resblocks.1.attn": 2, "resblocks.1.ln_2": 2,
         "resblocks.1.mlp": 3}  # fmt: skip
model = dispatch_model(Visual(), where, main_device=0)
model(torch.randn(2, 4, device=0))
