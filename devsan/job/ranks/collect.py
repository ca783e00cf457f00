"""What is true of one rank when it fails or ends: plain data, which travels in the job's folder."""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

from devsan import active_options, core
from devsan.cuda.visible_devices import VARIABLE, visible_devices
from devsan.introspect.process_info import launch_number, process
from devsan.job.numbers import node_in
from devsan.job.ranks.memory import memory_of_process
from devsan.job.ranks.models import models_of_process
from devsan.job.ranks.source import group_made
from devsan.job.ranks.stack import (
    backward_in,
    collective_in,
    condition_of,
    in_collective,
    program_frame,
    stack_of,
)

Plain = dict[str, Any]


def collect(error: BaseException | None = None, ended: str = "") -> Plain:
    """Returns the facts of this process as a rank of a job: JSON, without values of tensors. Never raises.

    Takes milliseconds, and longer only where the heap has millions of objects.

    Args:
        error: what ended the program; None at its end.
        ended: "terminated" where a launcher's signal ends the process now; "running" while it goes on.
    """
    facts: Plain = {"version": 1, "pid": os.getpid(), "host": socket.gethostname()}
    for name, part in (
        ("process", _process), ("end", lambda: _end(error, ended)), ("memory", memory_of_process),
        ("models", models_of_process),
        ("collectives", lambda: _collectives(error, ended)), ("group_made", group_made),
    ):  # fmt: skip
        try:
            facts[name] = part()
        except Exception as failure:  # the others are worth having without it
            facts.setdefault("missing", {})[name] = f"{type(failure).__name__}: {failure}"
    return facts


def _process() -> Plain:
    found = process([]) if core.is_here() else None
    plain: Plain = {
        "rank": launch_number("RANK"), "local_rank": launch_number("LOCAL_RANK"),
        "world_size": launch_number("WORLD_SIZE"), "local_world_size": launch_number("LOCAL_WORLD_SIZE"),
        "backend": "", "gpus": _gpus(),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""), "versions": {},
    }  # fmt: skip
    if found is not None:
        plain |= {
            "current_device": str(found.current_device), "set_device_called": bool(found.set_device_called),
            "device_count": int(found.device_count), "versions": dict(found.versions),
            "environment": dict(found.environment),
        }  # fmt: skip
    group: Any = sys.modules.get("torch.distributed")
    if group is not None and group.is_available() and group.is_initialized():
        plain["backend"] = str(group.get_backend())
        plain["rank"], plain["world_size"] = int(group.get_rank()), int(group.get_world_size())
    if plain["local_rank"] is None:  # started by hand or by torch.multiprocessing.spawn: one machine, as a rule
        plain["local_rank"] = plain["rank"]
    return plain


def _gpus() -> list[str]:
    """Names of the GPUs that this process sees, by ordinal: the same name in two processes is the same GPU."""
    options = active_options.current()
    emulated = options.devices() if options is not None else []
    if emulated:
        names = [f"GPU-{each.uuid}" for each in emulated]
        node = node_in(os.environ)  # several may be emulated on one machine: their GPUs are others
        shown = [names[number] for number in visible_devices(os.environ.get(VARIABLE), names)]
        return [f"{name}@{node}" if node else name for name in shown]
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():  # asking would initialize it
        return []
    return [f"GPU-{torch.cuda.get_device_properties(index).uuid}" for index in range(torch.cuda.device_count())]


def _end(error: BaseException | None, ended: str) -> Plain:
    stack = stack_of(error)
    end: Plain = {"how": ended or ("raised" if error is not None else "finished"), "time": time.time()}
    if error is not None:
        end |= {
            "error": type(error).__name__, "sentence": _sentence(error), "where": program_frame(stack),
            "in_collective": in_collective(stack), **condition_of(stack),
        }  # fmt: skip
    elif ended:
        end["where"] = program_frame(stack)
    return end


def _sentence(error: BaseException) -> str:
    """The first line that says something; of torch's errors without the C++ stack behind it."""
    try:
        lines = [line.strip() for line in str(error).splitlines()]
    except Exception:  # a library's own __str__
        return ""
    return next((line for line in lines if line), "")[:500]


def _collectives(error: BaseException | None, ended: str) -> list[Plain]:
    if error is None and not ended:
        return []
    stack = stack_of(error)
    call = collective_in(stack) or backward_in(stack)
    return [call] if call is not None else []
