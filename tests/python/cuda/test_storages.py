"""Storages, pinned memory, and what is written to files."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.usefixtures("four_gpus")


def on(ordinal: int) -> torch.device:
    return torch.device("cuda", ordinal)


@pytest.fixture
def tensor() -> torch.Tensor:
    return torch.arange(6.0, device="cuda:1").view(2, 3)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_storages_are_made_on_a_gpu() -> None:
    assert torch.UntypedStorage(10, device="cuda:1").device == on(1)
    assert torch.UntypedStorage([1, 2, 3], device="cuda").tolist() == [1, 2, 3]
    assert torch.UntypedStorage(device="cuda:2").nbytes() == 0
    assert torch.UntypedStorage([7, 8]).cuda(3).tolist() == [7, 8]
    assert torch.TypedStorage(3, dtype=torch.float, device="cuda:2").device == on(2)
    assert torch.UntypedStorage(4).device == torch.device("cpu")
    assert torch.UntypedStorage(4, device="meta").device == torch.device("meta")


def test_a_storage_is_read_and_written(tensor: torch.Tensor) -> None:
    storage = tensor.untyped_storage()
    assert (storage.device, storage.is_cuda, storage.get_device(), storage.nbytes()) == (on(1), True, 1, 24)
    assert storage.data_ptr() == tensor.data_ptr() != 0
    assert storage.cpu().device == torch.device("cpu") and storage.clone().device == on(1)
    storage.copy_(torch.ones(6).untyped_storage())
    assert tensor.sum().item() == 6
    storage.fill_(0)
    assert tensor.sum().item() == 0
    storage[0] = 1
    assert storage[0] == 1 and storage.tolist()[:2] == [1, 0]


def test_a_storage_is_resized(tensor: torch.Tensor) -> None:
    before = torch.cuda.memory_allocated(1)
    storage = tensor.untyped_storage()
    storage.resize_(2048)
    assert (storage.nbytes(), torch.cuda.memory_allocated(1) - before) == (2048, 2048 - 512)
    assert tensor.flatten().tolist() == [0, 1, 2, 3, 4, 5]
    storage.resize_(0)
    assert torch.cuda.memory_allocated(1) == before - 512
    host = torch.ones(4).untyped_storage()
    assert host.resize_(8).nbytes() == 8


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), copy.copy])
def test_copies_stay_on_their_device(copied: Callable[[Any], Any], tensor: torch.Tensor) -> None:
    assert copied(tensor).device == on(1) and torch.equal(copied(tensor), tensor)
    module = torch.nn.Linear(2, 2).cuda(3)
    assert copied(module).weight.device == on(3)


MAPPED = [
    (None, 1),
    ("cpu", None),
    ("cuda:2", 2),
    ("cuda", 0),
    (torch.device("cuda", 3), 3),
    ({"cuda:1": "cuda:0"}, 0),
    ({"cuda:3": "cuda:0"}, 1),
    (lambda storage, location: storage, None),
    (lambda storage, location: storage.cuda(2), 2),
    (lambda storage, location: None, 1),
]


@pytest.mark.parametrize(("map_location", "ordinal"), MAPPED)
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_files_are_mapped(
    map_location: Any, ordinal: int | None, weights_only: bool, zipped: bool, tensor: torch.Tensor
) -> None:
    file = io.BytesIO()
    torch.save({"a": tensor, "b": tensor[1]}, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    loaded = torch.load(file, map_location=map_location, weights_only=weights_only)
    assert loaded["a"].device == (torch.device("cpu") if ordinal is None else on(ordinal))
    assert loaded["a"].tolist() == tensor.tolist() and loaded["b"].tolist() == [3, 4, 5]
    assert loaded["a"].untyped_storage().data_ptr() == loaded["b"].untyped_storage().data_ptr()


def test_files_on_disk_are_mapped(tmp_path: Path, tensor: torch.Tensor) -> None:
    for zipped in (True, False):
        torch.save(tensor, tmp_path / "tensor.pt", _use_new_zipfile_serialization=zipped)
        assert torch.load(tmp_path / "tensor.pt").tolist() == tensor.tolist()
    torch.save(tensor, tmp_path / "tensor.pt")
    for map_location in ("cuda:3", "meta", "cpu", None):
        loaded = torch.load(tmp_path / "tensor.pt", mmap=True, map_location=map_location)
        assert loaded.device == torch.device(map_location or "cuda:1")


def test_a_device_that_is_not_there_is_torchs_sentence(tensor: torch.Tensor) -> None:
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"on CUDA device 9 but torch\.cuda\.device_count\(\) is 4"):
        torch.load(file, map_location="cuda:9")


def test_host_memory_is_pinned(tensor: torch.Tensor) -> None:
    host = torch.arange(3.0)
    pinned = host.pin_memory()
    assert pinned.is_pinned() and not host.is_pinned() and pinned.tolist() == [0, 1, 2]
    assert pinned[1:].is_pinned()
    assert torch.ones(3, pin_memory=True).is_pinned()
    assert torch.UntypedStorage(10).pin_memory().is_pinned()
    assert pinned.to("cuda:1", non_blocking=True).tolist() == [0, 1, 2]
    assert not tensor.is_pinned()
    with pytest.raises(
        RuntimeError, match=r"cannot pin 'torch\.cuda\.FloatTensor' only dense CPU tensors can be pinned"
    ):
        tensor.pin_memory()


def test_memory_that_exists_is_registered() -> None:
    host = torch.ones(100)
    torch.cuda.check_error(torch.cuda.cudart().cudaHostRegister(host.data_ptr(), host.nbytes, 0))
    assert host.is_pinned()
    torch.cuda.check_error(torch.cuda.cudart().cudaHostUnregister(host.data_ptr()))
    assert not host.is_pinned()


def test_new_tensors_follow_their_device(tensor: torch.Tensor) -> None:
    assert tensor.new_tensor([1, 2]).device == tensor.new(2, 3).device == tensor.new([1, 2]).device == on(1)
    assert tensor.new_tensor([1]).dtype == torch.float32
    assert tensor.new_tensor([1], device="cuda:2", dtype=torch.int64).device == on(2)
    assert tensor.new().shape == (0,) and tensor.new(torch.Size([2])).shape == (2,)
    assert tensor.new(tensor.untyped_storage()).shape == (6,)
    assert torch.ones(2).new_tensor([1]).device == torch.device("cpu")
    assert torch.nn.Parameter(tensor).new_tensor([3.0]).device == on(1)


def test_types_of_old_programs(tensor: torch.Tensor) -> None:
    assert isinstance(tensor, torch.cuda.FloatTensor) and not isinstance(tensor, torch.cuda.HalfTensor)
    assert not isinstance(tensor.cpu(), torch.cuda.FloatTensor) and isinstance(tensor.cpu(), torch.FloatTensor)
    assert tensor.type() == "torch.cuda.FloatTensor"
    assert tensor.cpu().type("torch.cuda.HalfTensor").device == on(0)
    assert tensor.type(torch.cuda.HalfTensor).device == on(1)
    assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)
    assert torch.cuda.LongTensor([1, 2]).tolist() == [1, 2]
    assert repr(torch.cuda.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type:UserWarning")
def test_the_default_type_of_old_programs() -> None:
    torch.set_default_tensor_type("torch.cuda.HalfTensor")
    try:
        made = torch.ones(2)
        assert (made.device.type, made.dtype) == ("cuda", torch.float16)
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert (torch.ones(1).device.type, torch.ones(1).dtype) == ("cpu", torch.float32)
