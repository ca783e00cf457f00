# expect: DV103 | gpus: 1 | operands: self.std, x | owner: program
"""Time series: a scaler that is no module was fitted on the host and undoes the model's output on the GPU."""

import torch
from torch import nn


class StandardScaler:
    def fit(self, series):
        self.mean = series.mean(dim=0)
        self.std = series.std(dim=0)
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def inverse_transform(self, x):
        return x * self.std + self.mean


class Forecaster(nn.Module):
    def __init__(self, channels, window, horizon):
        super().__init__()
        self.proj = nn.Linear(window, horizon)

    def forward(self, x):
        return self.proj(x.transpose(1, 2)).transpose(1, 2)


series = torch.randn(100, 3).cumsum(0)
scaler = StandardScaler().fit(series[:80])
scaled = scaler.transform(series)
windows = scaled.unfold(0, 12, 4).transpose(1, 2)
model = Forecaster(3, 12, 4).to("cuda:0").eval()
with torch.no_grad():
    forecast = model(windows.to("cuda:0"))
    print(scaler.inverse_transform(forecast).shape)
