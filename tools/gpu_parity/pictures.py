"""Programs that train networks on pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from training_steps import BF16, Figures, steps


def images(model: nn.Module, rows: int, low: bool, channels_last: bool = False) -> Figures:
    form = torch.channels_last if channels_last else torch.contiguous_format
    model = model.to("cuda", memory_format=form).train()
    pictures = torch.randn(rows, 3, 224, 224).to("cuda", memory_format=form)
    labels = torch.zeros(rows, dtype=torch.long, device="cuda")

    def step() -> Tensor:
        with torch.autocast("cuda", BF16, enabled=low):
            return functional.cross_entropy(model(pictures), labels)

    return steps(model.parameters(), step)


def resnet50() -> Figures:
    from torchvision.models import resnet50 as make

    return images(make(), 64, low=False)


def resnet50_autocast() -> Figures:
    from torchvision.models import resnet50 as make

    return images(make(), 128, low=True, channels_last=True)


def vit_b_16_autocast() -> Figures:
    from torchvision.models import vit_b_16 as make

    return images(make(), 64, low=True)


def convnext_tiny() -> Figures:
    from torchvision.models import convnext_tiny as make

    return images(make(), 32, low=False)


def unet() -> Figures:
    """Convolutions down and up again, as diffusion models have them, with GroupNorm and attention between."""

    class Level(nn.Module):
        def __init__(self, before: int, after: int) -> None:
            super().__init__()
            self.norm, self.first = nn.GroupNorm(32, before), nn.Conv2d(before, after, 3, padding=1)
            self.again, self.second = nn.GroupNorm(32, after), nn.Conv2d(after, after, 3, padding=1)
            self.across = nn.Conv2d(before, after, 1)

        def forward(self, x: Tensor) -> Tensor:
            inner = self.second(functional.silu(self.again(self.first(functional.silu(self.norm(x))))))
            return self.across(x) + inner

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.leave = nn.Conv2d(4, 128, 3, padding=1), nn.Conv2d(128, 4, 3, padding=1)
            self.down = nn.ModuleList([Level(128, 256), Level(256, 512)])
            self.middle = nn.MultiheadAttention(512, 8, batch_first=True)
            self.up = nn.ModuleList([Level(512 + 512, 256), Level(256 + 256, 128)])

        def forward(self, x: Tensor) -> Tensor:
            x, kept = self.enter(x), []
            for level in self.down:
                x = level(x)
                kept.append(x)
                x = functional.avg_pool2d(x, 2)
            rows = x.flatten(2).transpose(1, 2)
            x = x + self.middle(rows, rows, rows, need_weights=False)[0].transpose(1, 2).reshape(x.shape)
            for level in self.up:
                x = level(torch.cat([functional.interpolate(x, scale_factor=2.0), kept.pop()], 1))
            result: Tensor = self.leave(x)
            return result

    model, noise = UNet().to("cuda"), torch.randn(8, 4, 64, 64).to("cuda")
    return steps(model.parameters(), lambda: functional.mse_loss(model(noise), noise))
