"""DV418: buckets whose buffers do not fit the GPUs.

DeepSpeed's documentation of overlap_comm: 4.5 times allgather_bucket_size and reduce_bucket_size, in elements of two
bytes ("uses 4.5x the allgather_bucket_size and reduce_bucket_size values", transformers' guide to DeepSpeed).
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.settings import Settings

CODE = own_code(__name__)

_FACTOR = 4.5
_BYTES = 2
_SHARE = 0.25  # of the smallest GPU: more than that, and the model feels it
_USUAL = 500_000_000


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields buckets that take a large part of the smallest visible GPU."""
    gpus = [gpu for gpu in case.facts.visible_gpus() if gpu.memory]
    if not gpus:
        return
    smallest = min(gpus, key=lambda gpu: gpu.memory)
    for settings in case.deepspeed():
        yield from _checked(settings, smallest.memory, smallest.name)


def _checked(settings: Settings, memory: int, name: str) -> Iterator[Diagnostic]:
    if settings.by_accelerate or settings.stage not in (1, 2, 3):
        return
    given = [settings.get(f"zero_optimization.{each}_bucket_size") for each in ("reduce", "allgather")]
    sizes = [(setting, settings.number(setting.name)) for setting in given if setting is not None and not setting.auto]
    elements = sum(size for _, size in sizes if size is not None and size > 0)
    overlap = settings.flag("zero_optimization.overlap_comm")
    factor = _FACTOR if overlap or (overlap is None and settings.stage == 3) else 1.0
    needed = elements * _BYTES * factor / 2**20
    if not sizes or needed <= memory * _SHARE:
        return
    largest = max(sizes, key=lambda each: each[1] or 0)[0]
    fitting = int(memory * _SHARE * 2**20 / _BYTES / factor / max(1, len(sizes)) / 1e6) * 1_000_000
    yield finding(
        CODE,
        message("the buckets take {needed} GiB of {memory} GiB on {gpu}", needed=f"{needed / 1024:.1f}",
                memory=f"{memory / 1024:.0f}", gpu=name),
        largest.place,
        (message("Buffers of {elements} elements, times {factor} for overlap_comm, 2 bytes each.",
                 elements=f"{elements:.3g}", factor=f"{factor:g}") if factor > 1
         else message("Buffers of {elements} elements, 2 bytes each.", elements=f"{elements:.3g}"),),
        message("write {limit} or less", limit=min(fitting, _USUAL)), severity="warning", confidence="likely",
        sites=tuple(setting.place for setting, _ in sizes if setting is not largest),
        others=(message('with the Trainer, write "auto", which becomes hidden_size squared'),),
    )  # fmt: skip
