# expect: DV115 | gpus: 2 | operands: x | owner: program
"""mamba 593: everything is on GPU 1, the kernel is launched on the current device, GPU 0."""

import torch


def selective_scan_kernel(x, dt):
    if x.device != torch.device("cuda", torch.cuda.current_device()):
        raise ValueError("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)")


class Mamba2(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.in_proj = torch.nn.Linear(width, 2 * width)

    def forward(self, hidden):
        x, dt = self.in_proj(hidden).chunk(2, dim=-1)
        selective_scan_kernel(x, dt)
        return x


Mamba2(4).to("cuda:1")(torch.randn(2, 4, device="cuda:1"))
