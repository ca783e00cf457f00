# expect: DV113 | gpus: 1 | operands: filters[rate], frames | owner: program
"""Filters are kept by their rate for whoever asks first: a data set, on the host."""

import torch

filters = {}


def spectrum(y, rate):
    if rate not in filters:
        filters[rate] = torch.linspace(0, 1, 8 * rate).view(rate, 8).to(y.device)
    frames = y.view(8, -1)
    return torch.matmul(filters[rate], frames)


def main():
    samples = [spectrum(torch.randn(16), 4) for _ in range(2)]
    heard = torch.stack(samples).to("cuda")
    made = torch.randn(16, device="cuda")
    print((spectrum(made, 4) - heard[0]).abs().sum())


main()
