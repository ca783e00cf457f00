# expect: DV115 | gpus: 2 | operands: data_ptr | owner: accelerate
"""KIVI 24: a quantization kernel is launched while the current device is GPU 0 and the layer's states are on GPU 1."""

import torch
from accelerate import dispatch_model


class Kernel:
    def __getitem__(self, grid):
        return self.launch

    def launch(self, data_ptr, out_ptr, numel):
        if data_ptr.device.index != torch.cuda.current_device():
            raise ValueError("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)")


minmax_along_last_dim = Kernel()


def quantize_and_pack(value_states):
    packed = torch.empty_like(value_states)
    minmax_along_last_dim[(1,)](value_states, packed, value_states.numel())
    return packed


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.v_proj = torch.nn.Linear(4, 4)

    def forward(self, hidden_states):
        return quantize_and_pack(self.v_proj(hidden_states))


model = torch.nn.Sequential(torch.nn.Linear(4, 4), Attention())
model = dispatch_model(model, {"0": 0, "1": 1}, main_device=0)
model(torch.randn(2, 4, device=0))
