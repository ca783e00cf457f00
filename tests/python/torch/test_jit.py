"""TorchScript on emulated GPUs."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

GPU = "cuda:1"
Same = Callable[..., None]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("bias", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.linear(x)) + self.bias
        if x.size(0) > 2:
            y = y * 2
        return y + torch.ones(4, device=x.device)


@pytest.fixture
def models() -> tuple[nn.Module, nn.Module]:
    model = Model().eval()
    return model, copy.deepcopy(model).to(GPU)


def test_trace_save_and_load(same: Same, models: tuple[nn.Module, nn.Module]) -> None:
    expected, model = models
    x = torch.randn(3, 4)
    traced = torch.jit.trace(model, x.to(GPU))
    assert 'torch.device("cuda:1")' in traced.code
    for _ in range(3):  # the profiling executor changes its plan
        same(traced(x.to(GPU)), expected(x))
    traced(x.to(GPU)).sum().backward()
    expected(x).sum().backward()
    same(model.linear.weight.grad, expected.linear.weight.grad)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    for location, device in ((None, GPU), ("cpu", "cpu"), ("cuda:0", "cuda:0")):
        file.seek(0)
        loaded = torch.jit.load(file, map_location=location)
        assert {str(p.device) for p in loaded.parameters()} == {device}
    file.seek(0)
    same(torch.jit.freeze(torch.jit.load(file).eval())(x.to(GPU)), expected(x))


def test_script(same: Same, models: tuple[nn.Module, nn.Module]) -> None:
    expected, model = models
    x = torch.randn(3, 4)
    scripted = torch.jit.script(model)
    for _ in range(3):
        same(scripted(x.to(GPU)), expected(x))
    same(torch.jit.optimize_for_inference(scripted)(x.to(GPU)), expected(x))
    scripted.to("cuda:0")
    same(scripted(x.cuda(0)), expected(x), "cuda:0")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        scripted(x.to(GPU))


def test_devices_inside_a_script(same: Same) -> None:
    @torch.jit.script
    def move(t: Tensor):
        home = t.device
        if t.is_cuda:
            t = t.to(torch.device("cuda:0"))
        waiting = torch.jit.fork(torch.sin, t)
        return home, torch.jit.wait(waiting), t.to(home) * 2, torch.arange(3, device=home)

    a = torch.randn(3)
    home, sine, doubled, counted = move(a.to(GPU))
    assert home == torch.device(GPU)
    same(sine, a.sin(), "cuda:0")
    same(doubled, a * 2)
    same(counted, torch.arange(3))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_networks(same: Same, kind: type[nn.Module]) -> None:
    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = kind(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.network(x)[0]

    expected, x = First(), torch.randn(5, 2, 4)
    model = copy.deepcopy(expected).to(GPU)
    same(torch.jit.script(model)(x.to(GPU)), expected(x))
    same(torch.jit.trace(model, (x.to(GPU),))(x.to(GPU)), expected(x))
