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
                CODE, message("the optimizer goes to NVMe with stage 3 only, this is stage {stage}", stage=stage),
                optimizer.place,
                (message("Stages 1 and 2 keep its state on the host whatever the device says: memory of the host "
                         "fills instead."),),
                message('write "cpu", or use stage 3'), severity="warning", confidence="certain",
            )  # fmt: skip
        for which, setting in zip(OFFLOADS, (optimizer, param), strict=True):
            if setting is not None and setting.value == "nvme":
                yield from _path(settings, which, setting)
        yield from _only_stage_3(settings, stage)
        yield from _pinned(case, settings)


def _ignored_param(param: Setting, settings: Settings, stage: int) -> Diagnostic:
    return finding(
        CODE, message("parameters are offloaded by stage 3 only, this is stage {stage}", stage=stage), param.place,
        (message("DeepSpeed ignores the setting: every parameter stays on the GPU."),
         message("Stages 0 to 2 keep a whole copy of the parameters on each GPU.")),
        message("set zero_stage: 3") if settings.by_accelerate else message("use stage 3"), severity="warning",
        confidence="certain", others=(message("remove offload_param, and offload the optimizer alone"),),
    )  # fmt: skip


def _without_zero(optimizer: Setting) -> Diagnostic:
    return finding(
        CODE, message("the optimizer is offloaded, and ZeRO is off (stage 0)"), optimizer.place,
        (message("DeepSpeed then makes its CPU optimizer, while the parameters stay on the GPU: the first step "
                 "fails."),),
        message("use stage 1, 2 or 3"), severity="error", confidence="likely",
        others=(message("remove {setting}", setting="offload_optimizer"),),
    )  # fmt: skip


def _path(settings: Settings, which: str, setting: Setting) -> Iterator[Diagnostic]:
    path = settings.get(f"zero_optimization.{which}.nvme_path")
    said = path.value if path is not None else None
    if not isinstance(said, str) or said in ("", "none"):
        yield finding(
            CODE, message("{section} goes to NVMe, and no nvme_path says where", section=which), setting.place,
            (message("DeepSpeed makes its swap folder below nvme_path and fails without one."),),
            message("give nvme_path: a folder on a local NVMe disk"), severity="error", confidence="certain",
        )  # fmt: skip
    elif path is not None and not os.path.isdir(said):
        yield finding(
            CODE, message("nvme_path {path} is no folder of this machine", path=said), path.place,
            (message("It has to exist, and be writable, on each machine of the job."),),
            message("make the folder, or name another"), severity="warning", confidence="likely",
        )  # fmt: skip


def _only_stage_3(settings: Settings, stage: int | None) -> Iterator[Diagnostic]:
    if stage is None or stage == 3:
        return
    ratio = settings.get("zero_optimization.offload_optimizer.ratio")
    part = real(ratio.value) if ratio is not None else None
    if ratio is not None and part is not None and part < 1 and not ratio.auto:
        yield finding(
            CODE,
            message("offloading a part of the optimizer (ratio {ratio}) needs stage 3, this is stage {stage}",
                    ratio=ratio.node.written(), stage=stage),
            ratio.place,
            (message("DeepSpeed refuses the file."),), message("use stage 3"), severity="error", confidence="certain",
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
                CODE, message("{section} pins memory of the host, of which WSL has little", section=which),
                setting.place,
                (message("CUDA on WSL can pin only a part of the host's memory; DeepSpeed pins all that it "
                         "offloads."),),
                message("write {correction}", correction="false"), severity="warning", confidence="possible",
                edits=written(settings.document, setting.node, False, safe=False),
            )  # fmt: skip
        elif settings.flag(f"zero_optimization.{which}.pin_memory") is False:
            yield finding(
                CODE, message("{section} does not pin what it keeps on the host", section=which), setting.place,
                (message("Copies from memory that is not pinned do not overlap with computing, and are slower."),),
                message("write true, unless memory of the host is short"), severity="note", confidence="possible",
                edits=written(settings.document, setting.node, True, safe=False),
            )  # fmt: skip
