# expect: DV114 | gpus: 1 | operands: hidden, unet.conv_in.bias | owner: accelerate
"""SD.Next 2205: weights are offloaded to meta, and something computes with them outside of the hook."""

import torch
from accelerate import cpu_offload


class Unet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_in = torch.nn.Conv2d(3, 4, 1)

    def forward(self, x):
        return self.conv_in(x)


unet = Unet()
cpu_offload(unet, execution_device=torch.device("cuda:0"))
latents = torch.randn(1, 3, 4, 4, device="cuda:0")
hidden = unet(latents).mean((2, 3))
hidden + unet.conv_in.bias
