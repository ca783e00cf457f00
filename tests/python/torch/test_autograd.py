"""Hooks, saved tensors, functions and graphs of autograd on emulated GPUs."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd import graph as autograd_graph

GPU = "cuda:1"
Same = Callable[..., None]


def network(device: str) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)).to(device)


def test_every_hook_sees_the_gpu(same: Same) -> None:
    model, seen = network(GPU), set()

    def doubled(gradient: Tensor) -> Tensor:
        seen.add(("tensor", str(gradient.device)))
        return gradient * 2

    for parameter in model.parameters():
        parameter.register_hook(doubled)
        parameter.register_post_accumulate_grad_hook(lambda p: seen.add(("accumulated", str(p.grad.device))))
    model.register_forward_pre_hook(lambda module, args: seen.add(("before", str(args[0].device))))
    model.register_forward_hook(lambda module, args, output: seen.add(("after", str(output.device))))
    model.register_full_backward_pre_hook(lambda module, grads: seen.add(("backward before", str(grads[0].device))))
    model.register_full_backward_hook(lambda module, grads, outs: seen.add(("backward", str(grads[0].device))))
    x = torch.randn(3, 4)
    model(x.to(GPU).requires_grad_()).sum().backward()
    kinds = {"tensor", "accumulated", "before", "after", "backward before", "backward"}
    assert seen == {(kind, GPU) for kind in kinds}
    expected = network("cpu")
    expected(x).sum().backward()
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        same(ours.grad, theirs.grad * 2)


def test_an_optimizer_inside_the_backward_pass(same: Same) -> None:
    model, expected, x = network(GPU), network("cpu"), torch.randn(3, 4)

    def step(parameter: Tensor) -> None:
        torch.optim.SGD([parameter], 0.1).step()
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    model(x.to(GPU)).sum().backward()
    expected(x).sum().backward()
    torch.optim.SGD(expected.parameters(), 0.1).step()
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        same(ours, theirs)


def test_a_hook_that_changes_the_device_is_refused() -> None:
    output = torch.ones(3, device=GPU, requires_grad=True).sin()
    output.register_hook(lambda gradient: gradient.cpu())
    words = r"has changed the type of value \(was torch\.cuda\.FloatTensor got torch\.FloatTensor\)"
    with pytest.raises(RuntimeError, match=words):
        output.sum().backward()


@pytest.mark.parametrize("pin_memory", [True, False])
def test_saved_on_the_cpu(same: Same, pin_memory: bool) -> None:
    x = torch.randn(3, 4, device=GPU, requires_grad=True)
    kept = []
    with autograd_graph.save_on_cpu(pin_memory=pin_memory):
        output = x.exp() * x
    with autograd_graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        pass
    output.sum().backward()
    value = x.detach().cpu()
    same(x.grad, value.exp() * (value + 1))


def test_hooks_of_saved_tensors(same: Same) -> None:
    x = torch.randn(3, 4, device=GPU, requires_grad=True)
    packed = []

    def pack(t: Tensor) -> Tensor:
        packed.append(str(t.device))
        return t.cpu()

    with autograd_graph.saved_tensors_hooks(pack, lambda t: t.to(GPU)):
        output = x.sin() * x
    output.sum().backward()
    assert set(packed) == {GPU}
    value = x.detach().cpu()
    same(x.grad, value.cos() * value + value.sin())
    with autograd_graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t):
        forgotten = x.sin()
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        forgotten.sum().backward()


def test_functions(same: Same) -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a: Tensor, b: Tensor) -> Tensor:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor]:
            a, b = ctx.saved_tensors
            assert str(gradient.device) == str(a.device)
            return gradient * b, gradient * a

    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(t: Tensor) -> Tensor:
            return t.exp()

        @staticmethod
        def setup_context(ctx, inputs, output: Tensor) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient * ctx.saved_tensors[0]

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t: Tensor) -> Tensor:
            ctx.mark_dirty(t.mul_(2))
            return t

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient * 2

    a, b = torch.randn(3), torch.randn(3)
    x, y = a.to(GPU).requires_grad_(), b.to(GPU).requires_grad_()
    first = torch.autograd.grad((Product.apply(x, y) ** 2).sum(), x, create_graph=True)[0]
    same(torch.autograd.grad(first.sum(), x)[0], 2 * b * b)
    same(torch.autograd.grad(Exponential.apply(x).sum(), x)[0], a.exp())
    same(torch.autograd.grad(Doubled.apply(x.clone()).sum(), x)[0], torch.full((3,), 2.0))


def test_a_gradient_on_the_wrong_device_is_refused() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t: Tensor) -> Tensor:
            return t * 2

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient.cpu()

    x = torch.ones(3, device=GPU, requires_grad=True)
    with pytest.raises(RuntimeError, match="expected device cuda:1 but got cpu"):
        Wrong.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with device type 'cpu'"):
        x.grad = torch.ones(3)


def test_gradcheck() -> None:
    a = torch.randn(3, 4, dtype=torch.double, device=GPU, requires_grad=True)
    b = torch.randn(4, 2, dtype=torch.double, device=GPU, requires_grad=True)
    assert gradcheck(lambda a, b: (a @ b).tanh(), (a, b), check_forward_ad=True, check_batched_grad=True)
    assert gradcheck(lambda a, b: (a @ b).tanh(), (a, b), fast_mode=True)
    assert gradgradcheck(lambda a, b: (a @ b).tanh(), (a, b))
    image = torch.randn(1, 2, 4, 4, dtype=torch.double, device=GPU, requires_grad=True)
    kernel = torch.randn(2, 2, 3, 3, dtype=torch.double, device=GPU, requires_grad=True)
    assert gradcheck(F.conv2d, (image, kernel))
    assert gradgradcheck(F.conv2d, (image, kernel))
    z = torch.randn(3, dtype=torch.cdouble, device=GPU, requires_grad=True)
    assert gradcheck(lambda z: (z * z.conj()).real.sum(), (z,))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t: Tensor) -> Tensor:
            return t * 2

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, (a,))


def test_nodes_and_edges(same: Same) -> None:
    x = torch.randn(3, device=GPU, requires_grad=True)
    output = x.sin() * 2
    assert output.grad_fn.name() == "MulBackward0"
    torch.autograd.backward(autograd_graph.get_gradient_edge(output), torch.ones(3, device=GPU))
    same(x.grad, 2 * x.detach().cpu().cos())
    batched = torch.autograd.grad(x.sin(), x, torch.eye(3, device=GPU), is_grads_batched=True)[0]
    same(batched, torch.diag(x.detach().cpu().cos()))
    for device in ("cuda:0", "cpu"):
        other = torch.ones(3, device=device, requires_grad=True)
        (other.to(GPU) * 3).cpu().sum().backward()
        same(other.grad, torch.full((3,), 3.0), device)


def test_versions_and_inference() -> None:
    x = torch.ones(3, device=GPU, requires_grad=True)
    output = x.exp()
    output.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)
    plain = torch.ones(3, device=GPU)
    plain.add_(1)
    plain.view(3)[0] = 5
    assert plain._version == 2
    with torch.inference_mode():
        frozen = plain * 2
        assert frozen.is_inference() and frozen[1:].is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * frozen


def test_copies_of_modules_with_hooks(same: Same) -> None:
    model = network(GPU)
    model[0].register_forward_hook(lambda module, args, output: output * 2)
    twin = copy.deepcopy(model)
    x = torch.randn(3, 4, device=GPU)
    assert torch.equal(model(x), twin(x))
    assert twin[0].weight.data_ptr() != model[0].weight.data_ptr()
    base = torch.arange(4.0, device=GPU)
    copies = copy.deepcopy([base, base[1:]])
    copies[0].add_(1)
    same(copies[1], torch.tensor([2.0, 3.0, 4.0]))
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x.clone().requires_grad_() * 2)


def test_weak_references() -> None:
    tensor = torch.ones(3, device=GPU)
    reference = weakref.ref(tensor)
    storage = torch.multiprocessing.reductions.StorageWeakRef(tensor.untyped_storage())
    assert not storage.expired()
    del tensor
    gc.collect()
    assert reference() is None and storage.expired()
    parameter = nn.Parameter(torch.ones(3, device=GPU))
    parameter.tag = "kept"
    node = (parameter * 2).grad_fn
    del parameter
    gc.collect()
    assert node.next_functions[0][0].variable.tag == "kept"
