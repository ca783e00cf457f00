"""What the check of streams costs a training step: the same step with and without it, in turns, in one run."""

from __future__ import annotations

import time

import torch

import devsan


def seconds_of_a_step(check: str | None) -> float:
    """Returns the quickest of ten steps of an encoder layer with AdamW."""
    with devsan.emulate(gpus=1, check=check):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.0).cuda()
        optimizer = torch.optim.AdamW(layer.parameters(), foreach=True)
        x = torch.randn(8, 128, 256, device="cuda")
        taken = []
        for _ in range(12):
            start = time.perf_counter()
            layer(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            taken.append(time.perf_counter() - start)
        return min(taken[2:])


if __name__ == "__main__":
    pairs = [(seconds_of_a_step(None), seconds_of_a_step("streams")) for _ in range(5)]
    without, watched = (min(each) for each in zip(*pairs, strict=True))
    print(f"without {without * 1e3:.1f} ms, with {watched * 1e3:.1f} ms: {watched / without:.2f}x")
