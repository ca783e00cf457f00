"""torch.nn.parallel on emulated GPUs: copies, DataParallel, and torch's sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
from torch import nn
from torch.nn.parallel import comm, gather, parallel_apply, replicate, scatter

pytestmark = pytest.mark.usefixtures("four_gpus")


def devices(tensors: Any) -> list[int]:
    return [tensor.get_device() for tensor in tensors]


def test_broadcast() -> None:
    tensor = torch.arange(4.0, device="cuda:1")
    copies = comm.broadcast(tensor, [1, 3, 0])
    assert devices(copies) == [1, 3, 0] and all(copy.tolist() == tensor.tolist() for copy in copies)
    assert copies[0].data_ptr() == tensor.data_ptr()
    out = [torch.empty(4, device="cuda:2"), torch.empty(4, device="cuda:0")]
    assert devices(comm.broadcast(tensor, out=out)) == [2, 0] and out[1].tolist() == tensor.tolist()
    assert devices(comm.broadcast(torch.ones(2), [0, 1])) == [0, 1]


def test_broadcast_coalesced_keeps_order_and_versions_apart() -> None:
    tensors = [torch.full((n,), float(n), device="cuda:0") for n in (1, 5, 2)] + [torch.ones(2, device="cuda:0").long()]
    for buffer_size in (8, 10485760):
        first, second = comm.broadcast_coalesced(tensors, [0, 2], buffer_size)
        assert devices(second) == [2] * 4 and [t.tolist() for t in second] == [t.tolist() for t in tensors]
        assert all(mine is theirs for mine, theirs in zip(first, tensors, strict=True))
        second[0].add_(1)
        assert second[1]._version == 0


def test_scatter_and_gather() -> None:
    tensor = torch.arange(10.0).view(5, 2)
    chunks = comm.scatter(tensor, [0, 2, 3])
    assert devices(chunks) == [0, 2, 3] and [len(chunk) for chunk in chunks] == [2, 2, 1]
    assert [chunk.shape[0] for chunk in comm.scatter(tensor.cuda(1), [1, 0], [1, 4])] == [1, 4]
    assert torch.equal(comm.gather(chunks, destination="cpu"), tensor)
    assert comm.gather(chunks, destination=3).device == torch.device("cuda:3")
    assert comm.gather(chunks).device == torch.device("cuda:0")
    assert comm.gather([tensor.cuda(0), tensor.cuda(1)], dim=1).shape == (5, 4)
    out = [torch.empty(2, 2, device="cuda:0"), torch.empty(3, 2, device="cuda:1")]
    assert comm.scatter(tensor, out=out, dim=0)[1].tolist() == tensor[2:].tolist()
    assert comm.gather(out, out=torch.empty(5, 2, device="cuda:1")).tolist() == tensor.tolist()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: comm.broadcast(torch.ones(1), [-1]), "Expected non-negative device index, but got -1"),
        (lambda: comm.gather([torch.ones(1)]), "Expected all input tensors to be CUDA tensors, but tensor at index 0"),
        (lambda: comm.gather([]), "Expected at least one tensor to gather from"),
        (
            lambda: comm.gather([torch.ones(2, 2).cuda(0), torch.ones(2, 3).cuda(1)]),
            "Input tensor at index 1 has invalid shape [2, 3], but expected [2, 2]",
        ),
        (
            lambda: comm.scatter(torch.ones(2), [0, 1], [2]),
            "Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and len(chunk_sizes) = 1",
        ),
        (
            lambda: comm.broadcast(torch.ones(2).cuda(), out=[torch.ones(3).cuda(1)]),
            "Expected all output tensors to have same shape as the source tensor [2], but output tensor at index 0",
        ),
    ],
)
def test_torchs_sentences(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(RuntimeError) as failure:
        call()
    assert sentence in str(failure.value)


def test_nccl_within_the_process(recwarn: pytest.WarningsRecorder) -> None:
    inputs = [torch.full((4,), float(device + 1), device=f"cuda:{device}") for device in range(3)]
    assert torch.cuda.nccl.is_available(inputs)
    assert comm.reduce_add(inputs, destination=1).tolist() == [6.0] * 4
    torch.cuda.nccl.all_reduce(inputs)
    assert inputs[2].tolist() == [6.0] * 4
    outputs = [torch.empty(12, device=f"cuda:{device}") for device in range(3)]
    torch.cuda.nccl.all_gather(inputs, outputs)
    assert outputs[1].tolist() == [6.0] * 12
    parts = [torch.empty(4, device=f"cuda:{device}") for device in range(3)]
    torch.cuda.nccl.reduce_scatter(outputs, parts)
    assert parts[0].tolist() == [18.0] * 4
    inputs[0].fill_(7)
    torch.cuda.nccl.broadcast(inputs)
    assert inputs[2].tolist() == [7.0] * 4
    assert [str(warning.message) for warning in recwarn if "NCCL" in str(warning.message)] == []


def on_three(*values: float, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.full((3,), value, device=f"cuda:{device}", dtype=dtype) for device, value in enumerate(values)]


# Every collective of torch.cuda.nccl with the same inputs, as any kind of iterable; how many elements an output has.
COLLECTIVES: dict[str, tuple[Callable[[Any, Any], None], int]] = {
    "all_reduce": (lambda inputs, outputs: torch._C._nccl_all_reduce(inputs, outputs, 0, None, None), 3),
    "reduce": (lambda inputs, outputs: torch._C._nccl_reduce(inputs, outputs[0], 0, 0, None, None), 3),
    "broadcast": (lambda inputs, outputs: torch._C._nccl_broadcast(inputs, 0, None, None), 3),
    "all_gather": (lambda inputs, outputs: torch._C._nccl_all_gather(inputs, outputs, None, None), 9),
    "reduce_scatter": (lambda inputs, outputs: torch._C._nccl_reduce_scatter(inputs, outputs, 0, None, None), 1),
}
KINDS: dict[str, Callable[[list[torch.Tensor]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda tensors: (tensor for tensor in tensors),
    "keys": lambda tensors: dict.fromkeys(tensors).keys(),
    "map": lambda tensors: map(torch.Tensor.view, tensors, [(3,)] * 3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_nccl_takes_whatever_can_be_iterated_over(collective: str, kind: str) -> None:
    call, elements = COLLECTIVES[collective]
    results = []
    for made in (list, KINDS[kind]):
        inputs = on_three(1.0, 2.0, 4.0)
        outputs = [torch.zeros(elements, device=tensor.device) for tensor in inputs]
        call(made(inputs), outputs)
        results.append([tensor.tolist() for tensor in inputs + outputs])
    assert results[0] == results[1]
    assert results[0] != [tensor.tolist() for tensor in on_three(1.0, 2.0, 4.0)] + [[0.0] * elements] * 3


@pytest.mark.parametrize(
    ("inputs", "error", "sentence"),
    [
        (lambda: 7, TypeError, "expected a sequence"),
        (lambda: [1, 2], TypeError, "expected Tensor at 0 (got int)"),
        (lambda: {"a": torch.ones(1)}, TypeError, "expected Tensor at 0 (got str)"),
        (lambda: [torch.ones(3)], RuntimeError, "input and output elements have to be cuda dense Tensors"),
        (lambda: on_three(1)[:1] * 2, RuntimeError, "inputs must be on unique devices"),
        (lambda: [*on_three(1), torch.ones(2, device="cuda:1")], RuntimeError, "the same number of elements"),
        (lambda: [*on_three(1), torch.ones(3, device="cuda:1").long()], RuntimeError, "of the same Tensor dtype"),
        (lambda: [torch.ones(2, 3, device="cuda").t()], RuntimeError, "have to be contiguous"),
        (lambda: on_three(1, 2, dtype=torch.complex64), RuntimeError, "Unconvertible NCCL type ComplexFloat"),
    ],
)
def test_nccl_refuses_in_torchs_words(inputs: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    for collective in ("all_reduce", "broadcast"):
        with pytest.raises(error) as failure:
            COLLECTIVES[collective][0](inputs(), inputs())
        assert sentence in str(failure.value)


def test_copies_take_what_pybind_takes() -> None:
    tensor, out = torch.arange(4.0, device="cuda:1"), on_three(0, 0)
    assert comm.broadcast(torch.ones(3), out=(each for each in out))[1].tolist() == [1.0] * 3
    assert comm.gather(iter(comm.scatter(tensor, [0, 2])), destination=1).tolist() == tensor.tolist()
    assert torch._C._gather(map(torch.clone, out), 0, 0).shape == (6,)
    for wrong in (None, 3, "ab", {"a": tensor}, iter(out), [1]):
        with pytest.raises(TypeError, match=r"^_gather\(\): incompatible function arguments"):
            torch._C._gather(wrong, 0, 0)


def test_data_parallel_of_a_lazy_module_is_refused_in_torchs_words() -> None:
    model = nn.DataParallel(nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).cuda(), [0, 1])
    # autograd's own, behind the copies: test_data_parallel_lazy_linear of torch's test_data_parallel.py
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in <method 'view_as'"):
        model(torch.ones(4, 3, device="cuda"))


def test_compiled_functions_never_meet_torch_function() -> None:
    class Watching(torch.Tensor):
        seen: ClassVar[list[str]] = []

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    inputs = [tensor.as_subclass(Watching) for tensor in on_three(1, 2, 4)]
    Watching.seen.clear()
    for call, elements in COLLECTIVES.values():
        call(inputs, [torch.zeros(elements, device=f"cuda:{device}") for device in range(3)])
    torch._C._broadcast_coalesced(inputs[:1], [0, 1], 100)
    torch._C._gather(inputs, 0, -1)
    assert Watching.seen == []


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        self.seen: list[int] = []

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.seen.append(inputs.get_device())
        output: torch.Tensor = self.body(inputs)
        return output


def test_data_parallel_trains_as_one_device() -> None:
    torch.manual_seed(0)
    single = Model().eval()
    parallel = nn.DataParallel(Model().eval().cuda(), device_ids=[0, 1, 2, 3])
    parallel.module.load_state_dict(single.state_dict())
    inputs, targets = torch.randn(8, 6), torch.randint(3, (8,))
    outputs = []
    for model, device in ((single, "cpu"), (parallel, "cuda")):
        outputs.append(model(inputs.to(device)))
        nn.functional.cross_entropy(outputs[-1], targets.to(device)).backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert outputs[1].device == torch.device("cuda:0")
    assert torch.allclose(outputs[0], outputs[1].cpu())
    assert sorted(parallel.module.seen) == [0, 1, 2, 3]
    for mine, theirs in zip(single.parameters(), parallel.parameters(), strict=True):
        assert theirs.device == torch.device("cuda:0")
        assert torch.allclose(mine, theirs.cpu(), atol=1e-6)


def test_data_parallel_with_batch_norm_in_training() -> None:
    parallel = nn.DataParallel(Model().cuda())
    parallel(torch.randn(16, 6)).sum().backward()
    assert parallel.module.body[1].num_batches_tracked.item() == 1


def test_data_parallel_refuses_a_module_elsewhere() -> None:
    sentence = (
        r"^module must have its parameters and buffers on device cuda:0 \(device_ids\[0\]\) but found one of them "
    )
    with pytest.raises(RuntimeError, match=sentence + "on device: cuda:1$"):
        nn.DataParallel(Model().cuda(1), device_ids=[0, 1])(torch.ones(4, 6))
    with pytest.raises(RuntimeError, match=sentence + "on device: cpu$"):
        nn.DataParallel(Model())(torch.ones(4, 6))


def test_the_parts_of_data_parallel() -> None:
    replicas = replicate(Model().cuda(), [0, 1])
    inputs = scatter(torch.randn(8, 6), [0, 1])
    outputs = parallel_apply(replicas, inputs, devices=[0, 1])
    assert devices(outputs) == [0, 1]
    assert gather(outputs, 1).shape == (8, 3)


def test_an_error_in_a_replica_names_it() -> None:
    class Broken(nn.Linear):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return super().forward(inputs) + torch.ones(2, device="cuda:0")

    with pytest.raises(RuntimeError, match="in replica 1 on device 1") as failure:
        nn.DataParallel(Broken(3, 2).cuda(), device_ids=[0, 1])(torch.ones(4, 3))
    assert "Expected all tensors to be on the same device" in str(failure.value)


def test_grad_scaler_and_autocast() -> None:
    model = nn.Linear(4, 4).cuda(1)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16
        output = model(torch.ones(2, 4, device="cuda:1"))
        assert output.dtype == torch.bfloat16
        loss = output.float().pow(2).mean()
    assert not torch.is_autocast_enabled("cuda")
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    before = model.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 65536.0 and not torch.equal(before, model.weight)
    model.weight.grad = torch.full_like(model.weight, float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 32768.0


def test_scatter_names_what_it_cannot_do() -> None:
    tensor = torch.rand(4, 4, device="cuda:0")
    with pytest.raises(RuntimeError, match="Expected at least one device to scatter to"):
        comm.scatter(tensor, [])
    with pytest.raises(RuntimeError, match="Total size for output tensors along scatter dim 0 does not match"):
        comm.scatter(tensor, out=[torch.empty(1, 4, device="cuda:1")], dim=-2)
