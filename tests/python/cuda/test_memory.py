"""Memory figures, as torch.cuda and torch.accelerator give them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import programs
import pytest
import torch

pytestmark = pytest.mark.usefixtures("four_gpus")

MIB = 1024**2


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    torch.cuda.empty_cache()
    for device in range(4):
        torch.cuda.reset_peak_memory_stats(device)
        torch.cuda.reset_accumulated_memory_stats(device)
    yield


def test_allocated_and_reserved() -> None:
    before = torch.cuda.memory_allocated(1)
    tensor = torch.empty(1000, device="cuda:1")
    assert torch.cuda.memory_allocated(1) - before == 4096  # 4000 bytes in steps of 512
    assert torch.cuda.memory_reserved(1) == 2 * MIB
    del tensor
    assert torch.cuda.memory_allocated(1) == before
    assert torch.cuda.max_memory_allocated(1) - before == 4096
    torch.cuda.reset_peak_memory_stats(1)
    assert torch.cuda.max_memory_allocated(1) == before
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved(1) == 0


def test_free_memory_follows() -> None:
    free, total = torch.cuda.mem_get_info(2)
    tensor = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda:2")
    assert torch.cuda.mem_get_info(2) == (free - 64 * MIB, total)
    assert torch.accelerator.get_memory_info(2) == (free - 64 * MIB, total)
    assert torch.cuda.get_device_properties(2).total_memory == total
    assert torch.accelerator.memory_allocated(2) == torch.cuda.memory_allocated(2) >= tensor.nbytes


def test_stats_have_torchs_layout() -> None:
    torch.cuda.init()  # before that there are no figures
    stats = torch.cuda.memory_stats(1)
    for group in ("allocation", "segment", "active", "inactive_split"):
        for kind in (group, f"{group}_bytes" if group != "allocation" else "allocated_bytes"):
            if kind == "segment_bytes":
                kind = "reserved_bytes"
            for pool in ("all", "large_pool", "small_pool"):
                for figure in ("current", "peak", "allocated", "freed"):
                    assert f"{kind}.{pool}.{figure}" in stats
    assert {"num_alloc_retries", "num_ooms", "max_split_size", "oversize_allocations.current"} <= stats.keys()
    assert "PyTorch CUDA memory summary, device ID 1" in torch.cuda.memory_summary(1)
    assert torch.cuda.memory_summary(0, abbreviated=True)
    accelerator = torch.accelerator.memory_stats(1)
    assert accelerator["reserved_bytes.all.current"] == stats["reserved_bytes.all.current"]


def test_a_share_of_the_memory() -> None:
    torch.cuda.set_per_process_memory_fraction(0.01, 3)
    try:
        assert torch.cuda.get_per_process_memory_fraction(3) == pytest.approx(0.01)
        with pytest.raises(
            torch.cuda.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to allocate 1024\.00 MiB\."
        ):
            torch.empty(1024 * MIB, dtype=torch.uint8, device="cuda:3")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 3)
    with pytest.raises(ValueError, match=r"Invalid fraction value: 2\.0"):
        torch.cuda.set_per_process_memory_fraction(2.0)


@pytest.mark.parametrize("what", ["tensor", "storage", "resize", "raw"])
def test_out_of_memory_is_torchs(what: str) -> None:
    size = 100 << 30
    with pytest.raises(
        torch.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to allocate 100\.00 GiB\. GPU 1 has"
    ):
        if what == "tensor":
            torch.empty(size, dtype=torch.uint8, device="cuda:1")
        elif what == "storage":
            torch.UntypedStorage(size, device="cuda:1")
        elif what == "resize":
            torch.UntypedStorage(8, device="cuda:1").resize_(size)
        else:
            torch.cuda.caching_allocator_alloc(size, device=1)
    assert torch.cuda.memory_stats(1)["num_ooms"] == 1


def test_memory_beside_tensors() -> None:
    before = torch.cuda.memory_allocated(1)
    address = torch.cuda.caching_allocator_alloc(1024, device=1, stream=torch.cuda.Stream(1))
    assert torch.cuda.memory_allocated(1) == before + 1024
    torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated(1) == before
    with pytest.raises(RuntimeError, match="invalid device pointer: 0x7b"):
        torch.cuda.caching_allocator_delete(123)


def test_snapshot_has_torchs_layout(tmp_path: Path) -> None:
    tensor = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda:1")
    snapshot = torch.cuda.memory._snapshot()
    assert {"segments", "device_traces", "allocator_settings"} <= snapshot.keys()
    assert len(snapshot["device_traces"]) == 4
    segment = next(s for s in torch.cuda.memory_snapshot() if s["device"] == 1 and s["segment_type"] == "large")
    assert segment["total_size"] == 20 * MIB and segment["segment_pool_id"] == (0, 0)
    assert [block["state"] for block in segment["blocks"]] == ["active_allocated", "inactive"]
    assert segment["blocks"][0]["requested_size"] == tensor.nbytes
    assert torch.cuda._memory_viz.segsum(snapshot)
    torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    assert pickle.loads((tmp_path / "snapshot.pickle").read_bytes())["segments"]


def test_history() -> None:
    torch.cuda.memory._record_memory_history(max_entries=100)
    try:
        torch.empty(1000, device="cuda:2")
        trace = torch.cuda.memory._snapshot()["device_traces"][2]
        assert [event["action"] for event in trace] == [
            "segment_alloc",
            "alloc",
            "free_requested",
            "free_completed",
            "snapshot",
        ]
        assert (trace[0]["size"], trace[1]["size"]) == (2 * MIB, 4000)
        assert torch.cuda._memory_viz.trace({"device_traces": [trace], "segments": []})
    finally:
        torch.cuda.memory._record_memory_history(None)
    assert torch.cuda.memory._snapshot()["device_traces"][2] == []
    with pytest.raises(RuntimeError, match="expected context to be one of"):
        torch.cuda.memory._record_memory_history(context="some")


@pytest.mark.filterwarnings("ignore:torch.cuda._set_allocator_settings:FutureWarning")
def test_settings_change_at_run_time() -> None:
    torch.cuda.memory._set_allocator_settings("max_split_size_mb:100")
    try:
        assert torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"] == 100 * MIB
        with pytest.raises(ValueError, match="max_split_size"):
            torch.cuda.memory._set_allocator_settings("max_split_size_mb:1")
        assert torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"] == 100 * MIB
    finally:
        torch.cuda.memory._set_allocator_settings("")


@pytest.mark.skipif(not hasattr(torch.accelerator, "empty_host_cache"), reason="torch 2.11 cannot empty this cache")
def test_pinned_memory_is_counted() -> None:
    torch.zeros(1, device="cuda")  # before that there are no figures, and the cache is not emptied
    torch.accelerator.empty_host_cache()
    before = torch.cuda.host_memory_stats()
    tensor = torch.empty(1000, pin_memory=True)
    stats = torch.cuda.host_memory_stats()
    assert stats["active_bytes.current"] - before["active_bytes.current"] == 4096  # a power of two
    assert stats["num_host_alloc"] - before["num_host_alloc"] == 1
    del tensor
    torch.empty(900, pin_memory=True)
    stats = torch.cuda.host_memory_stats()
    assert stats["active_bytes.current"] == before["active_bytes.current"]
    assert stats["num_host_alloc"] - before["num_host_alloc"] == 1  # the block was kept
    torch.accelerator.empty_host_cache()
    assert torch.cuda.host_memory_stats()["allocations.current"] == before["allocations.current"]
    torch.cuda.reset_peak_host_memory_stats()
    torch.cuda.reset_accumulated_host_memory_stats()
    assert torch.cuda.host_memory_stats()["active_requests.allocated"] == 0


def test_metadata() -> None:
    torch.cuda.memory._set_memory_metadata("step 1")
    assert torch.cuda.memory._get_memory_metadata() == "step 1"
    torch.cuda.memory._set_memory_metadata("")
    assert torch.cuda.get_allocator_backend() == "native"


NO_ROOM_LEFT = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(256, 256), nn.ReLU()).cuda()
net(torch.randn(8, 256, device="cuda")).sum().backward()
kept = []
try:
    while True:
        kept.append(torch.empty(2 << 20, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError:
    pass
while True:
    kept.append(torch.empty(512, dtype=torch.uint8, device="cuda"))
"""


def test_a_gpu_without_a_byte_is_no_reason_to_abort(tmp_path):
    (tmp_path / "train.py").write_text(NO_ROOM_LEFT)
    done = programs.run(["-m", "devsan", "run", "--gpus", "1", "--memory", "600MiB", "train.py"], cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "error[DV501]" in done.stderr and "terminate called" not in done.stderr
