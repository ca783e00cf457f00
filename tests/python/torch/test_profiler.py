"""torch.profiler with CUDA among its activities."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

GPU = "cuda:1"


def test_cuda_is_an_activity() -> None:
    assert ProfilerActivity.CUDA in torch.profiler.supported_activities()


@pytest.mark.parametrize("activities", [[ProfilerActivity.CPU, ProfilerActivity.CUDA], [ProfilerActivity.CUDA], None])
def test_operators_have_times_on_the_gpu(activities: list[ProfilerActivity] | None, tmp_path: Path) -> None:
    t = torch.randn(200, 200, device=GPU)
    with profile(activities=activities, record_shapes=True) as profiler, record_function("multiply"):
        (t @ t).sum().item()
    events = {event.key: event for event in profiler.key_averages()}
    assert {"aten::mm", "multiply"} <= set(events)
    assert events["aten::mm"].device_time_total > 0
    assert "CUDA" in profiler.key_averages().table(sort_by="cuda_time_total")
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))


def test_a_schedule() -> None:
    t, done = torch.ones(3, device=GPU), []
    steps = schedule(wait=1, warmup=1, active=1, repeat=1)
    with profile(schedule=steps, on_trace_ready=lambda profiler: done.append(profiler)) as profiler:
        for _ in range(4):
            t.add_(1)
            profiler.step()
    assert len(done) == 1
