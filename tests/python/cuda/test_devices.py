"""Devices: what torch.cuda and torch.accelerator say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from devsan.profiles import find_profile

pytestmark = pytest.mark.usefixtures("four_gpus")


@pytest.mark.parametrize(
    "device",
    [2, "cuda:2", torch.device("cuda", 2), None],
    ids=["int", "str", "device", "None"],
)
def test_a_device_is_named_in_every_way(device: Any) -> None:
    with torch.cuda.device(2):
        assert torch.cuda.get_device_name(device) == "NVIDIA A100-SXM4-80GB"
        assert torch.cuda.get_device_capability(device) == (8, 0)
        assert torch.cuda.get_device_properties(device).pci_bus_id == 20


def test_a_number_is_a_gpu() -> None:
    assert torch.device(3) == torch.device("cuda:3") == torch.ones(1, device=3).device


def test_the_device_guard_is_a_device_too() -> None:
    assert torch.cuda.get_device_capability(torch.cuda.device(1)) == (8, 0)


def test_properties_are_those_of_the_profile() -> None:
    properties, profile = torch.cuda.get_device_properties(1), find_profile("a100-80g")
    assert properties.total_memory == profile.total_memory
    assert properties.multi_processor_count == 108
    assert properties.L2_cache_size == profile.l2_cache_size
    assert properties.warp_size == 32
    assert properties.is_integrated == 0
    assert len(str(properties.uuid)) == 36 and len(properties.uuid.bytes) == 16
    assert repr(properties).startswith("_CudaDeviceProperties(name='NVIDIA A100-SXM4-80GB', major=8, minor=0, total_")
    with pytest.raises(AttributeError):
        properties.major = 9


def test_every_gpu_has_a_uuid_of_its_own() -> None:
    assert len({str(torch.cuda.get_device_properties(device).uuid) for device in range(4)}) == 4


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(1, device="cuda:4"),
        lambda: torch.ones(1).to(4),
        lambda: torch.ones(1).cuda(9),
        lambda: torch.cuda.set_device(4),
        lambda: torch.cuda.device(4).__enter__(),
        lambda: torch.cuda.synchronize(4),
        lambda: torch.cuda.mem_get_info(4),
        lambda: torch.cuda.current_stream(4),
        lambda: (torch.cuda.init(), torch.cuda.memory_allocated(4)),  # 0 before: torch/cuda/memory.py asks nobody
        lambda: torch.UntypedStorage(3, device="cuda:4"),
        lambda: torch.accelerator.set_device_index(4),
    ],
)
def test_an_ordinal_that_is_not_there(use: Callable[[], object]) -> None:
    with pytest.raises(torch.AcceleratorError, match=r"^CUDA error: invalid device ordinal\n"):
        use()


@pytest.mark.parametrize("device", [4, -1])
def test_properties_of_a_device_that_is_not_there(device: int) -> None:
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(device)


def test_the_current_device_is_chosen_and_restored() -> None:
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(3):
        assert torch.cuda.current_device() == torch.accelerator.current_device_index() == 3
        assert torch.ones(1, device="cuda").device.index == 3
        with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
            assert torch.cuda.current_device() == 1
        with torch.cuda.device(-1):
            assert torch.cuda.current_device() == 3
    torch.cuda.set_device("cuda:2")
    assert torch.accelerator.current_device_index() == 2
    torch.accelerator.set_device_index(0)
    assert torch.cuda.current_device() == 0


def test_the_accelerator_agrees() -> None:
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 4
    assert torch.get_device_module() is torch.cuda
    assert torch.accelerator.current_stream(1).device == torch.device("cuda:1")
    torch.accelerator.synchronize(2)
    with torch.accelerator.device_index(2):
        assert torch.cuda.current_device() == 2


def test_peers() -> None:
    assert torch.cuda.can_device_access_peer(0, 3)
    assert not torch.cuda.can_device_access_peer(1, 1)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        torch.cuda.can_device_access_peer(0, 4)


def test_what_builds_and_libraries_say() -> None:
    assert torch.backends.cuda.is_built()
    assert torch.backends.cudnn.is_available()
    assert not torch.backends.cudnn.is_acceptable(torch.ones(1, device="cuda"))
    assert torch.cuda.is_bf16_supported() and torch.cuda.is_tf32_supported()
    assert "sm_80" in torch.cuda.get_arch_list()
    assert torch.cuda.current_blas_handle() != 0
    if hasattr(torch.backends.cuda, "cublas_workspace_size"):  # younger than torch 2.12
        assert torch.backends.cuda.cublas_workspace_size() > 0
    assert torch.backends.cuda.cufft_plan_cache[1].size == 0
    assert torch.__config__.show()
    torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStart())
    with pytest.raises(torch.cuda.CudaError, match=r"out of memory \(2\)"):
        torch.cuda.check_error(2)


def test_ranges_and_profiles_are_harmless() -> None:
    assert [torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_push("b")] == [0, 1]
    assert [torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()] == [1, 0]
    with torch.cuda.nvtx.range("c"), torch.cuda.profiler.profile():
        torch.cuda.nvtx.mark("d")
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("e"))
    with torch.autograd.profiler.emit_nvtx():
        torch.ones(2, device="cuda").sum()


def test_the_profiler_times_a_device() -> None:
    tensor = torch.ones(64, 64, device="cuda:1")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        tensor @ tensor
    events = {event.key: event for event in profile.key_averages()}
    assert events["aten::mm"].count >= 1
    assert profile.key_averages().table(sort_by="cuda_time_total", row_limit=3)


def test_sync_debug_mode() -> None:
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    torch.cuda.set_sync_debug_mode(0)
    torch.cuda._sleep(1000)
