"""DV404: releases with a known defect that this job meets; known_issues.json has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.known_issues import known_issues, met
from devsan.doctor.packages import together
from devsan.doctor.settings import OFFLOADS

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields defects of the installed releases; where the job's circumstances are not known, as a note."""
    for issue in known_issues():
        if not met(issue, case.facts.version):
            continue
        known = [_CONDITIONS[name](case) for name in issue.when]
        if False in known:
            continue
        unsure = None in known
        names = together(f"{name} {case.facts.version(name)}" for name in issue.packages)
        yield finding(
            CODE, message("{packages}: {defect}", packages=names, defect=issue.title), None,
            (issue.evidence, message("Source: {source}", source=issue.source)), issue.fix,
            severity="note" if unsure else issue.severity, confidence="possible" if unsure else issue.confidence,
            subject=names, others=issue.others,
        )  # fmt: skip


def _deepspeed(case: Case) -> bool | None:
    """Whether the job uses DeepSpeed; None where nothing tells."""
    if any(True for _ in case.deepspeed()) or case.launch.launcher == "deepspeed":
        return True
    if case.documents or case.scripts or case.launch.launcher:
        return any(script.uses("deepspeed") for script in case.scripts)
    return None


def _offload_optimizer(case: Case) -> bool | None:
    settings = list(case.deepspeed())
    if not settings:
        return None if _deepspeed(case) is not False else False
    # Stages 1 and 2 have a step of their own, without the defect.
    return any(each.offload(OFFLOADS[0]) is not None and each.stage in (3, None) for each in settings)


def _ranks(case: Case) -> bool | None:
    return case.world > 1 if case.world or case.launch.launcher == "python" else None


def _quantized(case: Case) -> bool | None:
    if not case.scripts:
        return None
    names = ("load_in_8bit", "load_in_4bit", "quantization_config")
    return any(call.says(name) for script in case.scripts for call in script.calls for name in names)


def _several_gpus(case: Case) -> bool | None:
    if case.facts.driver.state != "ok":
        return None
    return len(case.facts.visible) > 1


def _auto_prefetch(case: Case) -> bool | None:
    found = [setting for settings in case.deepspeed()
             if (setting := settings.get("zero_optimization.stage3_prefetch_bucket_size"))]  # fmt: skip
    return any(setting.auto for setting in found) if found else None if _deepspeed(case) is None else False


_CONDITIONS: dict[str, Callable[[Case], bool | None]] = {
    "deepspeed": _deepspeed,
    "offload_optimizer": _offload_optimizer,
    "ranks": _ranks,
    "quantized": _quantized,
    "several_gpus": _several_gpus,
    "auto_prefetch": _auto_prefetch,
}
