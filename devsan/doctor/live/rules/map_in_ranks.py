"""DV204: in ranks that have a GPU each, a map or its hooks use another rank's GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.rules.maps import devices_of_map, installed_at
from devsan.doctor.live.subject import Subject, is_gpu
from devsan.introspect.models.module_facts import device_map_of

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields models with hooks, or a map, for another rank's GPU."""
    for model in subject.models:
        hooked = devices_of_map(model)
        numbers = [os.environ.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
        if not all(number.isdigit() for number in numbers):
            continue
        local, ranks = map(int, numbers)
        named = {*hooked, *device_map_of(model.tree).values()}
        others = sorted(each for each in named if is_gpu(each) and ":" in each and each != f"cuda:{local}")
        if ranks < 2 or not others or _gpus() != ranks:
            continue  # with more GPUs than ranks each may have several of its own
        yield finding(
            CODE,
            message("the device map of local rank {rank} uses GPUs of other ranks: {devices}",
                    rank=local, devices=", ".join(others)),
            installed_at(subject, model) if hooked else None,
            (message("There are {ranks} ranks and {ranks} GPUs on this machine: each rank has one.", ranks=ranks),),
            message("load the whole model on the rank's GPU: {argument}", argument='device_map={"": local_rank}'),
            severity="error", confidence="certain",
            others=(message("shard it with FSDP or ZeRO-3 across ranks, or split it with a device map in one "
                            "process"),),
        )  # fmt: skip


def _gpus() -> int:
    torch: Any = sys.modules["torch"]
    try:
        return int(torch.cuda.device_count())
    except Exception:
        return 0
