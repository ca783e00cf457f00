"""DV201, DV202, DV204: two that place one model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from devsan.doctor.findings import Finding, Place
from devsan.doctor.live.subject import Model, Subject, is_gpu
from devsan.probe.module_facts import device_map_of


def judge_two_owners(subject: Subject) -> Iterator[Finding]:
    """Yields wrappers and engines around models that a map, or the program, has placed."""
    for model in subject.models:
        hooked = _devices_of_map(model)
        installed = _installed(subject, model) if hooked else None
        for wrapper in model.tree.wrappers:
            if wrapper in ("DDP", "torch.nn.DataParallel"):
                yield from _wrapped(subject, model, wrapper, hooked, installed)
            elif wrapper in ("deepspeed", "FSDP", "lightning") and hooked:
                yield _engine(subject, wrapper, hooked, installed)
        if "FSDP" not in model.tree.wrappers and model.sharded_by() == "FSDP" and hooked:
            yield _engine(subject, "FSDP", hooked, installed)
        yield from _in_ranks(model, hooked, installed)


def _devices_of_map(model: Model) -> list[str]:
    """The devices to which accelerate's hooks bring inputs."""
    found = {hook.device for hooks in model.hooks.values() for hook in hooks if hook.owner == "accelerate"}
    return sorted(found - {"", "meta"})


def _installed(subject: Subject, model: Model) -> Place | None:
    return subject.lines.dispatch([held.tensor for held in model.tensors[:64]])


def _wrapped(
    subject: Subject, model: Model, wrapper: str, hooked: list[str], installed: Place | None
) -> Iterator[Finding]:  # fmt: skip
    if len(model.gpus) < 2 and len([each for each in hooked if is_gpu(each)]) < 2:
        return
    by = "a device map" if hooked else "the program"
    name = {"DDP": "DistributedDataParallel", "torch.nn.DataParallel": "DataParallel"}[wrapper]
    if wrapper == "DDP" and not hooked:
        return  # a model on several GPUs, without device_ids: DDP's own way for model parallel ranks
    place = subject.lines.named(*(("DistributedDataParallel", "DDP") if wrapper == "DDP" else ("DataParallel",)))
    yield Finding(
        "DV202", f"{name} wraps a model that {by} has spread over {', '.join(model.gpus or hooked)}", place,
        ("DataParallel wants its whole module on the first GPU, and copies it to the others."
         if wrapper != "DDP" else "DDP wants one device a rank; the hooks of the map send inputs to others.",),
        "leave out the wrapper: the model uses several GPUs already", severity="error", confidence="certain",
        sites=(installed,) if installed is not None else (),
        others=("place the whole model on one GPU, and wrap that",), subject=name,
    )  # fmt: skip


def _engine(subject: Subject, wrapper: str, hooked: list[str], installed: Place | None) -> Finding:
    builders = {"deepspeed": ("initialize",), "FSDP": ("FullyShardedDataParallel", "FSDP", "fully_shard"),
                "lightning": ("setup",)}  # fmt: skip
    return Finding(
        "DV201", f"{wrapper} places a model that the hooks of accelerate place as well, for {', '.join(hooked)}",
        subject.lines.named(*builders[wrapper]),
        ("The engine moves or shards the weights, and the hooks go on sending inputs to the map's devices.",),
        "load the model without device_map: the engine places it", severity="error", confidence="likely",
        sites=(installed,) if installed is not None else (), subject=wrapper,
        others=("take the hooks off first: accelerate.hooks.remove_hook_from_submodules(model)",),
    )  # fmt: skip


def _in_ranks(model: Model, hooked: list[str], installed: Place | None) -> Iterator[Finding]:
    """In ranks that have a GPU each, hooks or a map for another rank's GPU."""
    numbers = [os.environ.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    if not all(number.isdigit() for number in numbers):
        return
    local, ranks = map(int, numbers)
    named = {*hooked, *device_map_of(model.tree).values()}
    others = sorted(each for each in named if is_gpu(each) and ":" in each and each != f"cuda:{local}")
    if ranks < 2 or not others or _gpus() != ranks:
        return  # with more GPUs than ranks each may have several of its own
    yield Finding(
        "DV204", f"the device map of local rank {local} uses {', '.join(others)}, which other ranks have", installed,
        (f"There are {ranks} ranks and {ranks} GPUs on this machine: each rank has one.",),
        'load the whole model on the rank\'s GPU: device_map={"": local_rank}', severity="error", confidence="certain",
        others=("shard it by FSDP or ZeRO-3 in ranks, or by the map in one process",), subject=f"local rank {local}",
    )  # fmt: skip


def _gpus() -> int:
    torch: Any = sys.modules["torch"]
    try:
        return int(torch.cuda.device_count())
    except Exception:
        return 0
