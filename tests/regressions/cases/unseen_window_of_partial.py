# expect: DV108 | gpus: 2 | operands: window, input | owner: program
"""Partials of stft hold a window that was made once; the second member of an ensemble is on another GPU."""

from functools import partial

import torch
import torch.nn as nn

torch.manual_seed(27)

N_FFT, HOP = 128, 32
DEVICES = ["cuda:0", "cuda:1"]

to_spectrum = partial(
    torch.stft,
    n_fft=N_FFT,
    hop_length=HOP,
    window=torch.hann_window(N_FFT, device="cuda"),
    return_complex=True,
)
to_wave = partial(
    torch.istft,
    n_fft=N_FFT,
    hop_length=HOP,
    window=torch.hann_window(N_FFT, device="cuda"),
)


class MaskDenoiser(nn.Module):
    """Predicts a magnitude mask frame by frame."""

    def __init__(self, width):
        super().__init__()
        bins = N_FFT // 2 + 1
        self.rnn = nn.GRU(bins, width, batch_first=True, bidirectional=True)
        self.mask = nn.Linear(2 * width, bins)

    def forward(self, wave):
        spectrum = to_spectrum(wave)
        magnitude = spectrum.abs().transpose(1, 2)
        hidden, _ = self.rnn(torch.log1p(magnitude))
        mask = torch.sigmoid(self.mask(hidden)).transpose(1, 2)
        return to_wave(spectrum * mask, length=wave.size(-1))


class Ensemble:
    def __init__(self, members, devices):
        self.members = [m.to(d).eval() for m, d in zip(members, devices, strict=True)]
        self.devices = devices

    @torch.no_grad()
    def __call__(self, wave):
        outputs = []
        for member, device in zip(self.members, self.devices, strict=True):
            outputs.append(member(wave.to(device)).cpu())
        return torch.stack(outputs).mean(dim=0)


def si_sdr(estimate, target, eps=1e-8):
    estimate = estimate - estimate.mean(dim=-1, keepdim=True)
    target = target - target.mean(dim=-1, keepdim=True)
    scale = (estimate * target).sum(-1, keepdim=True) / (target.pow(2).sum(-1, keepdim=True) + eps)
    projected = scale * target
    residual = estimate - projected
    return 10 * torch.log10((projected.pow(2).sum(-1) + eps) / (residual.pow(2).sum(-1) + eps))


def noisy_tones(n_batches, batch=3, samples=2048, rate=8000):
    g = torch.Generator().manual_seed(2)
    time = torch.arange(samples) / rate
    for _ in range(n_batches):
        pitch = 200 + 600 * torch.rand(batch, 1, generator=g)
        clean = torch.sin(2 * torch.pi * pitch * time)
        yield clean + 0.3 * torch.randn(batch, samples, generator=g), clean


def main():
    ensemble = Ensemble([MaskDenoiser(24), MaskDenoiser(40)], DEVICES)
    scores = []
    for noisy, clean in noisy_tones(4):
        enhanced = ensemble(noisy)
        scores.append(si_sdr(enhanced, clean) - si_sdr(noisy, clean))
    scores = torch.cat(scores)
    print(f"SI-SDR improvement {scores.mean():.3f} dB over {scores.numel()} clips")


if __name__ == "__main__":
    main()
