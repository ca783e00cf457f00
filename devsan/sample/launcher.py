"""The launchers: of the ranks that a command describes they start a sample.

NOTE [One agent for the sample] torchrun and accelerate launch both come to ``launch_agent`` of torch.distributed, whose
agent starts the ranks of one node and waits for the other nodes. With a sample one agent starts all of its ranks, as
those of a single node: so what torchelastic does for its workers (restarts, logs, error files, the store) is done for
them. What a rank finds in its environment is what the whole launch would put there, but for the address of the store,
which is here.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch.distributed import distributed_c10d

from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.errors import EXIT_USAGE, DevsanError, UsageError, one_line, tell
from devsan.job import folder
from devsan.sample_of_ranks import LAUNCHERS, VARIABLE, Range, Sample, chosen

_API = "torch.distributed.launcher.api"
_AGENT = "torch.distributed.elastic.agent.server.local_elastic_agent"
_DEEPSPEED = "deepspeed.launcher.runner"
_LOCAL_RANK = "${local_rank}"  # of torch.distributed.elastic.agent.server.api's macros

_launched: tuple[Sample, int] | None = None  # while ranks are started, with how many there are on a node


def begin(ranges: Sequence[Range], patches: Patches) -> AfterImport:
    """Has the launchers in this process start the ranks of ``ranges`` alone, and refuses what would start others."""
    for module in (distributed_c10d, torch.distributed):
        patches.set(module, "init_process_group", _refuse_group)
    imports = AfterImport({
        _API: lambda module: patches.set(module, "launch_agent", _sampled(module.launch_agent, ranges)),
        _AGENT: lambda module: _number_workers(module, patches),
        _DEEPSPEED: lambda module: patches.set(module, "main", _refuse_deepspeed),
    })  # fmt: skip
    imports.install()
    return imports


def _sampled(launch_agent: Callable[..., Any], ranges: Sequence[Range]) -> Callable[..., Any]:
    @functools.wraps(launch_agent)
    def launch_sample(config: Any, entrypoint: Any, args: list[Any], *more: Any, **named: Any) -> Any:
        global _launched
        try:
            if getattr(config, "virtual_local_rank", False) or any(_LOCAL_RANK in str(word) for word in args):
                raise UsageError(
                    "ranks that read LOCAL_RANK with --ranks", "--virtual-local-rank or torch.distributed.launch"
                )
            sample = chosen(ranges, config.max_nodes * config.nproc_per_node)
        except DevsanError as error:
            _refuse(one_line(error))
        _launched = sample, config.nproc_per_node
        folder.note_sample(os.environ.get(folder.VARIABLE, ""), sample.as_text())
        try:
            return launch_agent(_on_one_node(config, len(sample.ranks)), entrypoint, args, *more, **named)
        finally:
            _launched = None

    return launch_sample


def _on_one_node(config: Any, processes: int) -> Any:
    """The launch as ``torchrun --standalone`` would make it."""
    return dataclasses.replace(
        config, min_nodes=1, max_nodes=1, nproc_per_node=processes, run_id=str(uuid.uuid4()), rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", rdzv_configs={}, local_addr="localhost",
    )  # fmt: skip


def _number_workers(module: Any, patches: Patches) -> None:
    """Gives the workers of the agent, which counts them from 0, their numbers in the whole launch."""
    assign, start = module.LocalElasticAgent._assign_worker_ranks, module.start_processes

    def assign_worker_ranks(*args: Any, **named: Any) -> Any:
        workers = assign(*args, **named)
        if _launched is not None:
            sample, _ = _launched
            for worker, rank in zip(workers, sample.ranks, strict=True):
                worker.global_rank = worker.role_rank = rank
                worker.world_size = worker.role_world_size = sample.world_size
        return workers

    def start_processes(*args: Any, envs: Mapping[int, dict[str, str]], **named: Any) -> Any:
        if _launched is not None:
            for environment in envs.values():
                environment.update(_place(*_launched, int(environment["RANK"])))
        return start(*args, envs=envs, **named)

    patches.set(module.LocalElasticAgent, "_assign_worker_ranks", assign_worker_ranks)
    patches.set(module, "start_processes", start_processes)


def _place(sample: Sample, per_node: int, rank: int) -> dict[str, str]:
    """Where a rank is in the whole launch, by the variables of torchelastic; NODE_RANK where others set it."""
    node, local_rank = divmod(rank, per_node)
    place = {
        VARIABLE: sample.as_text(), "LOCAL_RANK": str(local_rank), "LOCAL_WORLD_SIZE": str(per_node),
        "GROUP_RANK": str(node), "GROUP_WORLD_SIZE": str(sample.world_size // per_node),
    }  # fmt: skip
    return place | ({"NODE_RANK": str(node)} if "NODE_RANK" in os.environ else {})


def _refuse_group(*args: object, **named: object) -> NoReturn:
    _refuse(str(UsageError(f"ranks started by {LAUNCHERS}, with --ranks", "a process started in another way")))


def _refuse_deepspeed(*args: object, **named: object) -> NoReturn:
    _refuse(str(UsageError(f"a launch by {LAUNCHERS}, with --ranks", "one by deepspeed")))


def _refuse(sentence: str) -> NoReturn:
    tell(sentence)
    raise SystemExit(EXIT_USAGE)
