"""torch.nn's tools on emulated GPUs: lazy and parametrized modules, exchanged tensors, state dicts."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, stateless

GPU = "cuda:1"
Same = Callable[..., None]


@pytest.fixture
def swapping() -> Iterator[None]:
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_lazy_modules() -> None:
    model = nn.Sequential(nn.LazyLinear(5), nn.LazyBatchNorm1d()).to(GPU)
    assert str(model(torch.randn(3, 4, device=GPU)).device) == GPU
    assert {str(t.device) for t in model.state_dict().values()} == {GPU}
    assert str(nn.LazyConv2d(3, 3, device=GPU)(torch.randn(1, 2, 5, 5, device=GPU)).device) == GPU


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrizations(same: Same, kind: str) -> None:
    torch.manual_seed(0)
    layer, x = getattr(parametrizations, kind)(nn.Linear(4, 4)).eval(), torch.randn(3, 4)
    moved, expected = copy.deepcopy(layer).to(GPU), layer(x)
    same(moved(x.to(GPU)), expected)
    parametrize.remove_parametrizations(moved, "weight")
    same(moved(x.to(GPU)), expected)


def test_parameters_of_another_kind(same: Same) -> None:
    layer, x = nn.Linear(4, 2), torch.randn(3, 4)
    moved = copy.deepcopy(layer).to(GPU)
    ones = {"weight": torch.ones(2, 4)}
    on_gpu = {"weight": torch.ones(2, 4, device=GPU)}
    same(stateless.functional_call(moved, on_gpu, x.to(GPU)), stateless.functional_call(layer, ones, x))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.func.functional_call(moved, ones, x.to(GPU))
    vector = nn.utils.parameters_to_vector(moved.parameters())
    same(vector, nn.utils.parameters_to_vector(layer.parameters()))
    with pytest.raises(TypeError, match="Found two parameters on different devices"):
        nn.utils.parameters_to_vector([moved.weight, layer.weight])


def test_exchanged_tensors(same: Same) -> None:
    a, b = torch.arange(3.0, device=GPU), torch.arange(4.0)
    torch.utils.swap_tensors(a, b)
    same(b * 2, torch.arange(3.0) * 2)
    same(a * 2, torch.arange(4.0) * 2, "cpu")


def test_modules_that_exchange_their_parameters(same: Same, swapping: None) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    expected, parameters = copy.deepcopy(model), list(model.parameters())
    model.to(GPU)
    assert [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    same(parameters[0], expected.weight)
    model.to_empty(device="cuda:0")
    model.load_state_dict(expected.state_dict())
    same(parameters[0], expected.weight, "cuda:0")


def test_identity_of_parameters(same: Same) -> None:
    model = nn.Linear(4, 2)
    weight, expected = model.weight, model.weight.detach().clone()
    model.to(GPU)
    assert model.weight is weight
    same(weight, expected)
    model.load_state_dict({"weight": torch.ones(2, 4, device="cuda:0"), "bias": torch.ones(2)}, assign=True)
    assert str(model.weight.device) == "cuda:0"


@pytest.mark.parametrize(
    ("location", "device"),
    [
        (None, GPU),
        ("cpu", "cpu"),
        ("cuda:0", "cuda:0"),
        ("cuda", "cuda:0"),
        ({"cuda:1": "cuda:0"}, "cuda:0"),
        (lambda storage, location: storage.cuda(0), "cuda:0"),
        (lambda storage, location: storage, "cpu"),
    ],
)
def test_where_a_file_is_loaded_to(same: Same, location: object, device: str) -> None:
    values = torch.arange(6.0).view(2, 3)
    file = io.BytesIO()
    torch.save({"t": values.to(GPU), "view": values.to(GPU).t()}, file)
    file.seek(0)
    loaded = torch.load(file, map_location=location)
    same(loaded["t"], values, device)
    same(loaded["view"], values.t(), device)


def test_a_file_from_a_machine_with_more_gpus() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(3, device=GPU), file)
    bigger = io.BytesIO(file.getvalue().replace(b"cuda:1", b"cuda:7"))
    with pytest.raises(RuntimeError, match=r"object on CUDA device 7 but torch.cuda.device_count\(\) is 2"):
        torch.load(bigger)


def test_packages(same: Same) -> None:
    from torch.package import PackageExporter, PackageImporter

    layer, file = nn.Linear(3, 2), io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.extern("torch.**")
        exporter.save_pickle("model", "model.pkl", copy.deepcopy(layer).to(GPU))
    for location, device in ((None, GPU), ("cpu", "cpu")):
        file.seek(0)
        same(
            PackageImporter(file).load_pickle("model", "model.pkl", map_location=location).weight, layer.weight, device
        )


def test_pinned_memory_of_loaders(same: Same) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert batch.is_pinned()
        same(batch.to(GPU, non_blocking=True), batch)
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(3, device=GPU).pin_memory()


def test_optimizers_keep_their_state_on_the_gpu(same: Same) -> None:
    def step(device: str, **options: object) -> Tensor:
        torch.manual_seed(0)
        model = nn.Linear(3, 3).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        model(torch.ones(2, 3, device=device)).sum().backward()
        optimizer.step()
        restored = torch.optim.AdamW(model.parameters(), **options)
        restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        restored.step()
        assert str(restored.state[model.weight]["exp_avg"].device) == device
        return model.weight

    for options in ({}, {"fused": True}, {"foreach": True, "capturable": True}):
        same(step(GPU, **options), step("cpu"))
