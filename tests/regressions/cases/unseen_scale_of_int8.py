# expect: DV108 | gpus: 2 | operands: self.scale, self.qweight.to(x.dtype) | owner: program
"""An int8 layer computes its scale from the weight and keeps it as a plain attribute; the layers are spread later."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)

CALIBRATION_DEVICE = "cuda:0"


class Int8Linear(nn.Module):
    """Weight-only int8 with one scale per output row."""

    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach()
        self.scale = weight.abs().amax(dim=1, keepdim=True) / 127.0
        quantized = torch.round(weight / self.scale).clamp(-127, 127).to(torch.int8)
        self.register_buffer("qweight", quantized)
        self.register_buffer("bias", linear.bias.detach().clone())

    def forward(self, x):
        weight = self.qweight.to(x.dtype) * self.scale
        return F.linear(x, weight, self.bias)


class ResidualMLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Regressor(nn.Module):
    def __init__(self, inputs=16, width=32, depth=4):
        super().__init__()
        self.stem = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(ResidualMLP(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)
        self.devices = None

    def spread(self, devices):
        self.devices = [devices[i * len(devices) // len(self.layers)] for i in range(len(self.layers))]
        self.stem.to(devices[0])
        for layer, device in zip(self.layers, self.devices, strict=True):
            layer.to(device)
        self.head.to(devices[-1])
        return self

    def forward(self, x):
        h = self.stem(x)
        for i, layer in enumerate(self.layers):
            if self.devices is not None:
                h = h.to(self.devices[i])
            h = layer(h)
        return self.head(h)


def quantize_linears(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, Int8Linear(child))
        else:
            quantize_linears(child)
    return module


@torch.no_grad()
def predict(model, inputs):
    return torch.cat([model(x.to(CALIBRATION_DEVICE)).cpu() for x in inputs.split(16)])


def main():
    inputs = torch.randn(64, 16)
    model = Regressor().to(CALIBRATION_DEVICE).eval()
    reference = predict(model, inputs)

    model = quantize_linears(model).spread(["cuda:0", "cuda:1"])
    output = predict(model, inputs)

    error = (output - reference).abs()
    print(f"mean error {error.mean().item():.5f} max error {error.max().item():.5f}")
    print(f"int8 bytes {sum(b.numel() for b in model.buffers() if b.dtype == torch.int8)}")


if __name__ == "__main__":
    main()
