"""DV411: what is to be offloaded, and whether this stage of ZeRO does it (deepspeed/runtime/zero)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import written
from devsan.doctor.findings import finding
from devsan.doctor.settings import OFFLOADS, Setting, Settings, real

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields offloads that are ignored, refused or lack something."""
    for settings in case.deepspeed():
        stage = settings.stage
        optimizer, param = (settings.offload(which) for which in OFFLOADS)
        if stage is not None and param is not None and stage != 3:
            yield _ignored_param(param, settings, stage)
        if stage == 0 and optimizer is not None:
            yield _without_zero(optimizer)
        if stage in (1, 2) and optimizer is not None and optimizer.value == "nvme":
            yield finding(
                CODE, message("optimizer offload to NVMe needs ZeRO stage 3, but the stage is {stage}", stage=stage),
                optimizer.place,
                (message("Stages 1 and 2 keep the optimizer state on the host whatever the device is: host memory "
                         "fills up instead."),),
                message('write "cpu", or use stage 3'), severity="warning", confidence="certain",
            )  # fmt: skip
        for which, setting in zip(OFFLOADS, (optimizer, param), strict=True):
            if setting is not None and setting.value == "nvme":
                yield from _path(settings, which, setting)
        yield from _only_stage_3(settings, stage)
        yield from _pinned(case, settings)


def _ignored_param(param: Setting, settings: Settings, stage: int) -> Diagnostic:
    return finding(
        CODE, message("parameter offload needs ZeRO stage 3, but the stage is {stage}", stage=stage), param.place,
        (message("DeepSpeed ignores the setting: every parameter stays on the GPU."),
         message("Stages 0 to 2 keep a full copy of the parameters on each GPU.")),
        message("set zero_stage: 3") if settings.by_accelerate else message("use stage 3"), severity="warning",
        confidence="certain", others=(message("remove offload_param, and offload only the optimizer"),),
    )  # fmt: skip


def _without_zero(optimizer: Setting) -> Diagnostic:
    return finding(
        CODE, message("the optimizer is offloaded, but ZeRO is disabled (stage 0)"), optimizer.place,
        (message("DeepSpeed then creates its CPU optimizer, but the parameters stay on the GPU: the first step "
                 "fails."),),
        message("use stage 1, 2 or 3"), severity="error", confidence="likely",
        others=(message("remove {setting}", setting="offload_optimizer"),),
    )  # fmt: skip


def _path(settings: Settings, which: str, setting: Setting) -> Iterator[Diagnostic]:
    path = settings.get(f"zero_optimization.{which}.nvme_path")
    said = path.value if path is not None else None
    if not isinstance(said, str) or said in ("", "none"):
        yield finding(
            CODE, message("{section} offloads to NVMe, but nvme_path is not set", section=which), setting.place,
            (message("DeepSpeed creates its swap folder in nvme_path, and fails if nvme_path is not set."),),
            message("set nvme_path to a folder on a local NVMe disk"), severity="error", confidence="certain",
        )  # fmt: skip
    elif path is not None and not os.path.isdir(said):
        yield finding(
            CODE, message("nvme_path {path} is not a folder on this machine", path=said), path.place,
            (message("It must exist and be writable on each machine of the job."),),
            message("create the folder, or set another one"), severity="warning", confidence="likely",
        )  # fmt: skip


def _only_stage_3(settings: Settings, stage: int | None) -> Iterator[Diagnostic]:
    if stage is None or stage == 3:
        return
    ratio = settings.get("zero_optimization.offload_optimizer.ratio")
    part = real(ratio.value) if ratio is not None else None
    if ratio is not None and part is not None and part < 1 and not ratio.auto:
        yield finding(
            CODE,
            message("partial offload of the optimizer (ratio {ratio}) needs ZeRO stage 3, but the stage is {stage}",
                    ratio=ratio.node.written(), stage=stage),
            ratio.place,
            (message("DeepSpeed rejects the file."),), message("use stage 3"), severity="error", confidence="certain",
            others=(message("remove {setting}", setting="ratio"),),
        )  # fmt: skip


def _pinned(case: Case, settings: Settings) -> Iterator[Diagnostic]:
    for which in OFFLOADS:
        setting = settings.get(f"zero_optimization.{which}.pin_memory")
        if settings.offload(which) is None or setting is None:
            continue
        if (
            settings.flag(f"zero_optimization.{which}.pin_memory") is True
            and "microsoft" in case.facts.system.name.lower()
        ):
            yield finding(
                CODE, message("{section} pins host memory, and WSL can pin only a part of it", section=which),
                setting.place,
                (message("CUDA on WSL can pin only a part of the host memory; DeepSpeed pins everything that it "
                         "offloads."),),
                message("write {correction}", correction="false"), severity="warning", confidence="possible",
                edits=written(settings.document, setting.node, False, safe=False),
            )  # fmt: skip
        elif settings.flag(f"zero_optimization.{which}.pin_memory") is False:
            yield finding(
                CODE, message("{section} keeps its data in unpinned host memory", section=which), setting.place,
                (message("Copies from unpinned memory are slower and do not overlap with computation."),),
                message("write true, unless host memory is scarce"), severity="note", confidence="possible",
                edits=written(settings.document, setting.node, True, safe=False),
            )  # fmt: skip
