"""What a profile shows of each call: the events of ProcessGroupNCCL, and nothing of what carries the call out."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

Check = Callable[[int, int], None]

# The titles in torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp; of messages they hold the ranks: see title_of.
TITLES = {
    "all_gather": "nccl:all_gather", "all_gather_into_tensor": "nccl:_all_gather_base",
    "all_reduce": "nccl:all_reduce", "all_reduce_coalesced": "nccl:allreduce_coalesced",
    "all_to_all": "nccl:all_to_all", "all_to_all_single": "nccl:all_to_all", "barrier": "nccl:all_reduce_barrier",
    "batch_isend_irecv": "nccl:coalesced", "broadcast": "nccl:broadcast", "gather": "nccl:gather",
    "isend": "", "recv": "", "reduce": "nccl:reduce",
    "reduce_scatter": "nccl:reduce_scatter", "reduce_scatter_tensor": "nccl:_reduce_scatter_base",
    "scatter": "nccl:scatter",
}  # fmt: skip


def calls() -> dict[str, Check]:
    spec = importlib.util.spec_from_file_location("every_call", Path(__file__).with_name("every_call.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, f"check_{name}") for name in TITLES}


def profiled(run: Callable[[], Any]) -> list[dict[str, Any]]:
    """The events of the trace that a program would export."""
    with torch.profiler.profile(record_shapes=True) as profile:
        run()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        profile.export_chrome_trace(str(file))
        return [event for event in json.loads(file.read_text())["traceEvents"] if "name" in event]


def of_collectives(events: list[dict[str, Any]]) -> list[str]:
    return [event["name"] for event in events if event["name"].startswith(("nccl:", "gloo:"))]


def title_of(name: str, rank: int) -> str:
    if name not in ("isend", "recv"):
        return TITLES[name]
    sends = (name == "isend") == (rank == 0)  # in every_call.py rank 0 calls isend, and recv
    return f"nccl:send {rank}->{1 - rank}" if sends else f"nccl:recv {rank}<-{1 - rank}"


def check_every_call(rank: int, size: int) -> None:
    for name, check in calls().items():
        check(rank, size)  # the first one connects
        events = profiled(lambda check=check: check(rank, size))
        assert set(of_collectives(events)) == {title_of(name, rank)}, (name, of_collectives(events))
        comms = [event for event in events if event["name"] == "record_param_comms"]
        assert comms, name
        told = comms[0].get("args", {})
        assert told.get("Group size", size) == size and told.get("Process Group Name", "0") == "0", told


def check_sizes_and_names(rank: int, size: int) -> None:
    tensor = torch.ones(3, 5, device="cuda")
    told = next(event["args"] for event in profiled(lambda: dist.all_reduce(tensor))
                if event["name"] == "record_param_comms")  # fmt: skip
    assert told["Collective name"] == "allreduce" and told["dtype"] == "Float"
    assert (told["In msg nelems"], told["Out msg nelems"]) == (15, 15)
    assert told["Process Group Description"] == "default_pg" and told["Rank"] == rank
    out = torch.ones(3, device="cuda")
    uneven = [1, 2] if rank == 0 else [2, 1]
    told = next(event["args"] for event in profiled(
        lambda: dist.all_to_all_single(out, tensor.flatten()[:3], [uneven[0], uneven[1]], uneven)
    ) if event["name"] == "record_param_comms")  # fmt: skip
    assert told["Collective name"] == "all_to_allv", told


def check_work_events_are_asynchronous(rank: int, size: int) -> None:
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        dist.all_reduce(torch.ones(3, 5, device="cuda"))
    events = {event.name: event for event in profile.function_events}
    assert events["nccl:all_reduce"].is_async and events["nccl:all_reduce"].input_shapes == [[3, 5]]
    assert {"c10d::allreduce_", "record_param_comms"} <= set(events)


def check_a_step_of_ddp(rank: int, size: int) -> None:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
    names = of_collectives(profiled(lambda: model(torch.ones(3, 4, device="cuda")).sum().backward()))
    assert names == ["nccl:all_reduce"], names


def check_nothing_of_gloos_threads(rank: int, size: int) -> None:
    """An average of integers is divided on the CPU behind gloo."""
    tensor = torch.arange(4, device="cuda")
    events = profiled(lambda: dist.all_reduce(tensor, dist.ReduceOp.AVG))
    threads = {event["tid"] for event in events if event.get("cat") in ("cpu_op", "user_annotation")}
    assert len({event["tid"] for event in events if event.get("cat") == "cpu_op"}) == 1, threads
