# expect: DV109 | gpus: 1 | operands: w, scale * diff | owner: program
"""ComfyUI 10940: the weight is streamed from the host, the LoRA's difference is resident on the GPU."""

import torch


class LoraDiff(torch.nn.Module):
    def __init__(self, shape, rank=2):
        super().__init__()
        self.up = torch.nn.Parameter(torch.zeros(shape[0], rank))
        self.down = torch.nn.Parameter(torch.zeros(rank, shape[1]))

    def forward(self, w):
        diff = self.up @ self.down
        scale = 0.5
        return w + scale * diff


class StreamedLinear(torch.nn.Linear):
    """Its weight is offloaded; a call brings it to the device of the input."""

    def __init__(self, width):
        super().__init__(width, width)
        self.weight_function = LoraDiff(self.weight.shape)

    def forward(self, x):
        weight = self.weight_function(self.weight)
        return torch.nn.functional.linear(x, weight.to(x.device), self.bias.to(x.device))


layer = StreamedLinear(4)
layer.weight_function.to("cuda:0")
layer(torch.randn(2, 4, device="cuda:0"))
