"""torch.func over emulated tensors: values as on the CPU, devices as on CUDA."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)
from torch.fx.experimental.proxy_tensor import make_fx

GPU = "cuda:1"
Same = Callable[..., None]


def scalar(t: Tensor) -> Tensor:
    return (t.sin() * t.flip(0)).prod()


@pytest.mark.parametrize(
    "function",
    [
        torch.dot,
        lambda a, b: torch.where(a > 0, a, b),
        lambda a, b: torch.outer(a, b).diagonal().cumsum(0),
        lambda a, b: a.clone().index_put_((torch.tensor([0], device=a.device),), b[:1]),
        lambda a, b: F.layer_norm(torch.stack([a, b]), (4,)),
        lambda a, b: F.scaled_dot_product_attention(a[None, :, None], b[None, :, None], b[None, :, None]),
        lambda a, b: torch.linalg.solve(torch.outer(a, b) + torch.eye(4, device=a.device), a),
    ],
)
def test_vmap(same: Same, function: Callable[..., Tensor]) -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    same(vmap(function)(a.to(GPU), b.to(GPU)), vmap(function)(a, b))
    same(vmap(function, in_dims=(0, None))(a.to(GPU), b[0].to(GPU)), vmap(function, in_dims=(0, None))(a, b[0]))


def test_vmap_of_convolutions_and_dimensions(same: Same) -> None:
    images, weights = torch.randn(2, 3, 1, 6, 6), torch.randn(3, 2, 1, 3, 3)
    expected = vmap(F.conv2d, in_dims=(1, 0), out_dims=1)(images, weights)
    same(vmap(F.conv2d, in_dims=(1, 0), out_dims=1)(images.to(GPU), weights.to(GPU)), expected)
    rows = torch.randn(10, 4)
    same(vmap(torch.sin, chunk_size=3)(rows.to(GPU)), rows.sin())


def test_vmap_sees_the_device() -> None:
    seen = []

    def look(t: Tensor) -> Tensor:
        seen.append((str(t.device), t.is_cuda, "cuda:1" in repr(t)))
        return t + torch.zeros(4, device=t.device) + t.new_zeros(4) + t.new_tensor([1.0, 2, 3, 4])

    assert vmap(look)(torch.zeros(3, 4, device=GPU)).tolist() == [[1, 2, 3, 4]] * 3
    assert seen == [(GPU, True, True)]


def test_vmap_refuses_mixed_devices() -> None:
    a = torch.ones(3, 4)
    for other in ("cpu", "cuda:0"):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            vmap(torch.add)(a.to(GPU), a.to(other))


def test_randomness_in_vmap() -> None:
    zeros = torch.zeros(3, 1000, device=GPU)
    for draw in (torch.rand_like, F.dropout, lambda t: t + torch.randn(1000, device=GPU)):
        different = vmap(lambda t, draw=draw: draw(t + 1), randomness="different")(zeros)
        same_numbers = vmap(lambda t, draw=draw: draw(t + 1), randomness="same")(zeros)
        assert not torch.equal(different[0], different[1])
        assert torch.equal(same_numbers[0], same_numbers[1])
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(lambda t, draw=draw: draw(t + 1))(zeros)


def test_numbers_in_vmap_are_those_of_the_device() -> None:
    zeros = torch.zeros(2, 3, device=GPU)
    torch.manual_seed(0)
    first = vmap(torch.randn_like, randomness="different")(zeros)
    torch.manual_seed(0)
    torch.randn(7)  # the CPU's and the other GPU's streams are not drawn from
    torch.randn(7, device="cuda:0")
    assert torch.equal(vmap(torch.randn_like, randomness="different")(zeros), first)


def test_gradients(same: Same) -> None:
    a, b = torch.randn(4), torch.randn(4)
    same(grad(scalar)(a.to(GPU)), grad(scalar)(a))
    same(grad(grad(lambda t: t**3))(a[0].to(GPU)), 6 * a[0])
    gradient, value = grad_and_value(scalar)(a.to(GPU))
    same(value, scalar(a))
    same(gradient, grad(scalar)(a))
    output, pull = vjp(torch.sin, a.to(GPU))
    same(output, a.sin())
    same(pull(b.to(GPU))[0], a.cos() * b)
    same(jvp(torch.sin, (a.to(GPU),), (b.to(GPU),))[1], a.cos() * b)
    same(linearize(torch.sin, a.to(GPU))[1](b.to(GPU)), a.cos() * b)


@pytest.mark.parametrize(
    "derivative",
    [
        jacrev,
        jacfwd,
        hessian,
        lambda f: jacfwd(jacfwd(f)),
        lambda f: jacrev(jacrev(f)),
        lambda f: jacrev(f, chunk_size=2),
    ],
)
def test_jacobians(same: Same, derivative: Callable[..., Callable[[Tensor], Tensor]]) -> None:
    a = torch.randn(3, 4)
    same(derivative(scalar)(a[0].to(GPU)), derivative(scalar)(a[0]))
    same(vmap(derivative(scalar))(a.to(GPU)), vmap(derivative(scalar))(a))


def test_gradients_of_each_sample(same: Same) -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    samples = torch.randn(6, 4)

    def gradients(model: nn.Module, samples: Tensor) -> dict[str, Tensor]:
        def loss(parameters: dict[str, Tensor], sample: Tensor) -> Tensor:
            return functional_call(model, parameters, (sample,)).pow(2).sum()

        return vmap(grad(loss), in_dims=(None, 0))(dict(model.named_parameters()), samples)

    expected = gradients(model, samples)
    for name, gradient in gradients(copy.deepcopy(model).to(GPU), samples.to(GPU)).items():
        same(gradient, expected[name])


def test_ensembles_of_modules(same: Same) -> None:
    models = [nn.Linear(4, 2) for _ in range(3)]
    samples = torch.randn(6, 4)
    stacked = stack_module_state([copy.deepcopy(model).to(GPU) for model in models])
    base = copy.deepcopy(models[0]).to("meta")
    outputs = vmap(lambda state, x: functional_call(base, state, (x,)), in_dims=(0, None))(stacked, samples.to(GPU))
    same(outputs, torch.stack([model(samples) for model in models]))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "MultiheadAttention"])
def test_networks_under_transforms(same: Same, kind: str) -> None:
    def derivatives(device: str) -> tuple[Tensor, ...]:
        torch.manual_seed(0)
        network = (nn.MultiheadAttention(8, 2) if kind == "MultiheadAttention" else getattr(nn, kind)(8, 4)).to(device)
        x = torch.linspace(-1, 1, 80).view(5, 2, 8).to(device)

        def call(x: Tensor) -> Tensor:
            return (network(x, x, x) if kind == "MultiheadAttention" else network(x))[0]

        output, pull = vjp(call, x)
        gradients = pull(torch.ones_like(output))
        if kind in ("LSTM", "GRU"):  # torch has no forward mode for CUDA's fused cells
            return gradients
        return *gradients, jvp(call, (x,), (torch.ones_like(x),))[1]

    for actual, expected in zip(derivatives(GPU), derivatives("cpu"), strict=True):
        same(actual, expected)


def test_functionalized_and_traced(same: Same) -> None:
    def change(t: Tensor) -> Tensor:
        t = t.clone()
        t[0].add_(1)
        return t @ t.t() + torch.ones(3, device=t.device)

    a = torch.randn(3, 4)
    same(functionalize(change, remove="mutations_and_views")(a.to(GPU)), change(a))
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(functionalize(change), tracing_mode=mode)(a.to(GPU))
        assert "cuda" in graph.code
        same(graph(a.to(GPU)), change(a))


def test_forward_mode(same: Same) -> None:
    def tangents(device: str) -> list[Tensor]:
        torch.manual_seed(0)
        network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU()).to(device)
        x = torch.linspace(0, 1, 150).view(2, 3, 5, 5).to(device)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            outputs = [dual * dual.exp(), network(dual)]
            return [forward_ad.unpack_dual(output).tangent for output in outputs]

    for actual, expected in zip(tangents(GPU), tangents("cpu"), strict=True):
        same(actual, expected)


def test_functions_with_a_rule_for_vmap(same: Same) -> None:
    class Sine(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(t: Tensor) -> Tensor:
            return t.sin()

        @staticmethod
        def setup_context(ctx, inputs, output) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, tangent: Tensor) -> Tensor:
            return tangent * ctx.saved_tensors[0].cos()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(t: Tensor) -> Tensor:
            return t * 2

        @staticmethod
        def setup_context(ctx, inputs, output) -> None:
            pass

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient * 2

        @staticmethod
        def vmap(info, in_dims, t: Tensor) -> tuple[Tensor, int]:
            assert str(t.device) == GPU
            return Twice.apply(t), in_dims[0]

    a = torch.randn(3, 4)
    same(vmap(Sine.apply)(a.to(GPU)), a.sin())
    same(vmap(grad(lambda t: Sine.apply(t).sum()))(a.to(GPU)), a.cos())
    same(jvp(Sine.apply, (a.to(GPU),), (a.to(GPU),))[1], a.cos() * a)
    same(vmap(Twice.apply)(a.to(GPU)), a * 2)
