"""torch.compile on emulated GPUs: dynamo and AOTAutograd as ever, inductor's graphs eagerly."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch._dynamo
import torch.nn.functional as F
from torch import Tensor, nn

from devsan.cuda import compiler

GPU = "cuda:1"
Same = Callable[..., None]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def network(device: str) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 4)).to(device)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_training(same: Same, backend: str) -> None:
    def train(device: str, compiled: bool) -> list[Tensor]:
        model = network(device)
        call = torch.compile(model, backend=backend, fullgraph=True) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.linspace(-1, 1, 12).view(3, 4).to(device)
        for _ in range(3):
            optimizer.zero_grad()
            call(x).pow(2).sum().backward()
            optimizer.step()
        return list(model.parameters())

    for actual, expected in zip(train(GPU, True), train("cpu", False), strict=True):
        same(actual, expected)


def test_shapes_that_vary(same: Same) -> None:
    graphs = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    function = torch.compile(lambda t: (t @ t.t()).sum(0), backend=backend, dynamic=True)
    for rows in (3, 4, 5):
        a = torch.randn(rows, 4)
        same(function(a.to(GPU)), (a @ a.t()).sum(0))
    assert len(graphs) == 1


def test_a_graph_for_each_device() -> None:
    devices = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        devices.append([str(t.device) for t in inputs])
        return graph.forward

    function = torch.compile(lambda t: t + 1, backend=backend)
    for device in ("cuda:0", GPU, "cpu", GPU):
        assert str(function(torch.ones(3, device=device)).device) == device
    assert devices == [["cuda:0"], [GPU], ["cpu"]]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_several_devices_in_a_graph(same: Same, backend: str) -> None:
    def both(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        return a.sin().to(b.device) + b, a.cuda(0) * 2, b.cpu(), torch.ones(2, device="cuda:0")

    a, b = torch.randn(3), torch.randn(3)
    results = torch.compile(both, backend=backend, fullgraph=True)(a.cuda(0), b.to(GPU))
    same(results[0], a.sin() + b)
    same(results[1], a * 2, "cuda:0")
    same(results[2], b, "cpu")
    same(results[3], torch.ones(2), "cuda:0")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention(backend: str, dtype: torch.dtype) -> None:
    """Its kernel is chosen for tensors without memory; in a build with CUDA torch's own choice would ask a driver."""
    given = [torch.randn(1, 2, 16, 8).to(GPU, dtype).requires_grad_() for _ in range(3)]
    compiled = torch.compile(F.scaled_dot_product_attention, backend=backend, fullgraph=True)
    result = compiled(*given, is_causal=True)
    assert torch.equal(result, F.scaled_dot_product_attention(*given, is_causal=True))
    result.sum().backward()
    assert all(part.grad is not None and part.grad.device == torch.device(GPU) for part in given)


def test_mixed_devices_are_refused() -> None:
    function = torch.compile(lambda a, b: a + b, backend="aot_eager")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        function(torch.ones(3, device="cuda:0"), torch.ones(3, device=GPU))


def test_graph_breaks_and_questions_about_cuda(same: Same) -> None:
    def function(t: Tensor) -> tuple[Tensor, int, bool]:
        t = t + torch.cuda.device_count()
        torch._dynamo.graph_break()
        if t.sum() > 0:
            t = t * 2
        return t.to("cuda:1"), torch.cuda.current_device(), t.is_cuda

    a = torch.rand(3)
    result, current, is_cuda = torch.compile(function, backend="aot_eager")(a.cuda(0))
    same(result, (a + 2) * 2)
    assert (current, is_cuda) == (0, True)


def test_autocast_random_numbers_and_checkpoints(same: Same) -> None:
    from torch.utils.checkpoint import checkpoint

    def product(t: Tensor) -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return t @ t

    assert torch.compile(product, backend="aot_eager")(torch.ones(3, 3, device=GPU)).dtype == torch.bfloat16
    ones = torch.ones(50, device=GPU)
    drop = torch.compile(F.dropout, backend="aot_eager")
    torch.manual_seed(0)
    dropped = drop(ones)
    torch.manual_seed(0)
    assert torch.equal(F.dropout(ones), dropped) and not torch.equal(dropped, ones)
    model, expected = network(GPU), network("cpu")
    x = torch.randn(3, 4)
    function = torch.compile(lambda t: checkpoint(model, t, use_reentrant=False), backend="aot_eager", fullgraph=True)
    function(x.to(GPU)).pow(2).sum().backward()
    expected(x).pow(2).sum().backward()
    same(model[0].weight.grad, expected[0].weight.grad)


@pytest.mark.parametrize("options", [{}, {"mode": "reduce-overhead"}, {"mode": "max-autotune"}, {"dynamic": True}])
def test_inductor_falls_back_to_eager(same: Same, options: dict[str, object]) -> None:
    a = torch.randn(3, 4)
    function = torch.compile(lambda t: t.sin() @ t.t(), fullgraph=True, **options)
    torch.compiler.cudagraph_mark_step_begin()
    same(function(a.to(GPU)), a.sin() @ a.t())


def test_inductor_says_so_once(same: Same, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(compiler, "_has_noted", False)
    model, expected, x = network(GPU), network("cpu"), torch.randn(3, 4)
    torch.compile(model)(x.to(GPU)).pow(2).sum().backward()
    torch.compile(lambda t: t + torch.ones(3, device=GPU))(x[:, 0].to(GPU))
    expected(x).pow(2).sum().backward()
    same(model[0].weight.grad, expected[0].weight.grad)
    assert capsys.readouterr().err.count("devsan:") == 1


def test_inductor_still_compiles_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compile_fx(graph: torch.fx.GraphModule, inputs: list[Tensor], **options: object) -> Callable[..., object]:
        compiled.append(graph)
        return graph.forward

    import torch._inductor.compile_fx

    monkeypatch.setattr(torch._inductor.compile_fx, "compile_fx", compile_fx)
    torch.compile(lambda t: t + 1)(torch.ones(3))
    assert len(compiled) == 1


def test_what_cannot_be_compiled_is_refused() -> None:
    a = torch.ones(3, device=GPU)
    with pytest.raises(Exception, match=r"devsan: CUDA graphs are not emulated; see docs/limits\.md"):
        torch.compile(lambda t: t + 1, backend="cudagraphs")(a)
    program = torch.export.export(network(GPU), (torch.ones(3, 4, device=GPU),))
    with pytest.raises(NotImplementedError, match=r"devsan: AOTInductor for GPUs is not emulated; see docs"):
        torch._inductor.aoti_compile_and_package(program)


def test_flags_of_the_compiler(same: Same) -> None:
    @torch.compiler.disable
    def plain(t: Tensor) -> Tensor:
        assert not torch.compiler.is_compiling()
        return t * 2

    a = torch.randn(3)
    same(torch.compile(lambda t: plain(t) + 1, backend="aot_eager")(a.to(GPU)), a * 2 + 1)
    with torch.compiler.set_stance("force_eager"):
        same(torch.compile(lambda t: t + 1)(a.to(GPU)), a + 1)
