"""NVML of the emulated GPUs: ``pynvml``, and what torch and accelerate ask it."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from devsan import emulate

GIB = 1 << 30


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """``pynvml``, initialized: of three GPUs the last one is cuda:0, and the first, which is cuda:1, is busy."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    with emulate(gpus="2*a100-80g,l4-24g", used_memory=["1GiB", 0, 0]):
        import pynvml

        pynvml.nvmlInit()
        yield pynvml
        pynvml.nvmlShutdown()


def test_every_gpu_of_the_machine_is_there_whatever_is_visible(nvml: Any) -> None:
    assert nvml.nvmlDeviceGetCount() == 3 and torch.cuda.device_count() == 2
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(3)]
    for ordinal, index in enumerate((2, 0)):
        properties, handle = torch.cuda.get_device_properties(ordinal), handles[index]
        assert nvml.nvmlDeviceGetUUID(handle) == f"GPU-{properties.uuid}"
        assert nvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}") == handle
        assert nvml.nvmlDeviceGetName(handle) == properties.name
        assert nvml.nvmlDeviceGetCudaComputeCapability(handle) == torch.cuda.get_device_capability(ordinal)
        assert nvml.nvmlDeviceGetMemoryInfo(handle).total == properties.total_memory
        pci = nvml.nvmlDeviceGetPciInfo(handle)
        assert (pci.bus, pci.device) == (properties.pci_bus_id, properties.pci_device_id)
        assert nvml.nvmlDeviceGetHandleByPciBusId(pci.busId.encode()) == handle
        assert [nvml.nvmlDeviceGetIndex(handle), nvml.nvmlDeviceGetMinorNumber(handle)] == [index] * 2


def test_memory_is_that_of_the_emulated_gpus(nvml: Any) -> None:
    def used(index: int) -> int:
        memory = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(index))
        assert memory.free + memory.used == memory.total
        return int(memory.used)

    assert [used(0), used(1), used(2)] == [GIB, 0, 0]
    assert not torch.cuda.is_initialized()
    tensor = torch.empty(GIB, dtype=torch.uint8, device="cuda:0")
    free, total = torch.cuda.mem_get_info(0)
    assert used(2) == total - free > tensor.nbytes
    assert (used(0), used(1)) == (GIB, 0)
    (process,) = nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(2))
    assert (process.pid, process.usedGpuMemory) == (os.getpid(), used(2))
    assert "python" in nvml.nvmlSystemGetProcessName(process.pid)
    assert nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(1)) == []


def test_torch_asks_for_the_gpu_that_it_means(nvml: Any) -> None:
    torch.ones(1, device="cuda:0")
    assert torch.cuda.utilization() == torch.cuda.memory_usage(1) == 0
    assert torch.cuda.temperature() > 0 and torch.cuda.power_draw() > 0
    l4, a100 = (torch.cuda.get_device_properties(ordinal) for ordinal in range(2))
    assert (torch.cuda.clock_rate(0), torch.cuda.clock_rate(1)) == (l4.clock_rate // 1000, a100.clock_rate // 1000)
    assert torch.cuda.device_memory_used(1) == GIB
    assert f"process {os.getpid():>10d} uses" in torch.cuda.list_gpu_processes(0)
    assert "no processes are running" in torch.cuda.list_gpu_processes(1)


def test_errors_are_pynvmls(nvml: Any) -> None:
    with pytest.raises(nvml.NVMLError_InvalidArgument, match=r"^Invalid Argument$"):
        nvml.nvmlDeviceGetHandleByIndex(3)
    with pytest.raises(nvml.NVMLError_NotFound):
        nvml.nvmlDeviceGetHandleByUUID("GPU-0")
    with pytest.raises(nvml.NVMLError) as failure:
        nvml.nvmlDeviceGetFanSpeed(nvml.nvmlDeviceGetHandleByIndex(0))
    assert failure.value.value == nvml.NVML_ERROR_NOT_SUPPORTED
    assert str(failure.value) == "devsan: nvmlDeviceGetFanSpeed of NVML is not emulated; see docs/limits.md"
    assert type(nvml.NVMLError(nvml.NVML_ERROR_DRIVER_NOT_LOADED)) is nvml.NVMLError_DriverNotLoaded
    assert not hasattr(nvml, "NVML_NO_SUCH_NAME")
    users = 0  # torch, accelerate and DeepSpeed initialize it too, and never shut it down
    with pytest.raises(nvml.NVMLError_Uninitialized):
        for _ in range(100):
            nvml.nvmlShutdown()
            users += 1
    with pytest.raises(nvml.NVMLError_Uninitialized):
        nvml.nvmlDeviceGetCount()
    for _ in range(users):
        nvml.nvmlInit()


def test_versions_agree_with_torchs(nvml: Any) -> None:
    assert nvml.nvmlSystemGetCudaDriverVersion() == torch._C._cuda_getCompiledVersion()
    assert [int(part) for part in nvml.nvmlSystemGetDriverVersion().split(".")] > [500]


def test_accelerate_sets_the_affinity(nvml: Any) -> None:
    from accelerate.utils.environment import override_numa_affinity

    before = os.sched_getaffinity(0)
    override_numa_affinity(2, verbose=False)
    assert os.sched_getaffinity(0) == before


def test_it_comes_and_goes_with_the_emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ModuleType("pynvml")
    monkeypatch.setitem(sys.modules, "pynvml", installed)
    keeper = ModuleType("keeper")
    keeper.pynvml = installed  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keeper", keeper)
    had = torch.cuda._HAS_PYNVML
    with emulate(gpus=1):
        import pynvml

        assert pynvml is not installed and keeper.pynvml is pynvml is torch.cuda.pynvml
        pynvml.nvmlInit()
    assert sys.modules["pynvml"] is installed is keeper.pynvml
    assert torch.cuda._HAS_PYNVML is had
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()
    with pytest.raises(pynvml.NVMLError_LibraryNotFound):
        pynvml.nvmlInit()
    with emulate(gpus=3):  # as DeepSpeed's accelerator, which is made once
        assert pynvml.nvmlDeviceGetCount() == 3
        pynvml.nvmlShutdown()


def test_the_package_is_found_by_its_name() -> None:
    with emulate(gpus=1):
        assert importlib.metadata.metadata("nvidia-ml-py")["Name"] == "nvidia-ml-py"
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.metadata("devsan-no-such-package")


def test_names_and_values_are_nvidias() -> None:
    real = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed here", exc_type=ImportError)
    with emulate(gpus=1):
        import pynvml

        ours = {name: value for name, value in vars(pynvml).items() if not name.startswith("__")}
    assert len(ours) > 80
    for name, value in ours.items():
        theirs = getattr(real, name)
        if isinstance(value, int):
            assert value == theirs, name
        elif isinstance(value, type):
            assert issubclass(theirs, Exception), name
        else:
            mine, its = (list(inspect.signature(function).parameters) for function in (value, theirs))
            assert mine == its, name
