"""DV410: schedulers that DeepSpeed does not know, or whose steps it refuses (deepspeed/runtime/lr_schedules.py)."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import written
from devsan.doctor.findings import finding
from devsan.doctor.settings import Settings, whole
from devsan.spelling import nearest

CODE = own_code(__name__)

_OWN = ("LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
_OF_TORCH = ("LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR",
             "SequentialLR", "CosineAnnealingLR", "ChainedScheduler", "ReduceLROnPlateau", "CyclicLR",
             "CosineAnnealingWarmRestarts", "OneCycleLR", "PolynomialLR", "LRScheduler")  # fmt: skip
_FULL = ("WarmupDecayLR", "WarmupCosineLR")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields schedulers that fail when the engine makes them."""
    for settings in case.deepspeed():
        kind = settings.get("scheduler.type")
        if kind is None or not isinstance(kind.value, str):
            continue
        if kind.value not in (*_OWN, *_OF_TORCH):
            near = nearest(kind.value, (*_OWN, *_OF_TORCH))
            yield finding(
                CODE, message("DeepSpeed does not know the scheduler {scheduler}", scheduler=kind.value), kind.place,
                (message("It has {schedulers}, and accepts the class names of torch.optim.lr_scheduler.",
                         schedulers=", ".join(_OWN)),),
                message("write {correction}", correction=near) if near else message("write one of these names"),
                severity="error", confidence="likely",
                edits=written(settings.document, kind.node, near) if near else (),
            )  # fmt: skip
            continue
        yield from _steps(settings, kind.value)


def _steps(settings: Settings, kind: str) -> Iterator[Diagnostic]:
    warmup, total = settings.get("scheduler.params.warmup_num_steps"), settings.get("scheduler.params.total_num_steps")
    few = whole(warmup.value) if warmup is not None and not warmup.auto else None
    if warmup is not None and few is not None and few <= 0:
        yield finding(
            CODE,
            message("{setting} is {value}, expected a positive integer", setting="warmup_num_steps",
                    value=warmup.node.written()),
            warmup.place,
            (message("DeepSpeed rejects it since 0.19.6; earlier versions silently used 2 instead."),),
            message("write 1 for no warmup"), severity="error", confidence="certain",
            edits=written(settings.document, warmup.node, 1),
        )  # fmt: skip
    if kind in _FULL and total is None:
        place = settings.get("scheduler.type")
        yield finding(
            CODE, message("{scheduler} needs total_num_steps", scheduler=kind), place.place if place else None,
            (message("It decays over all training steps, and their number has no default."),),
            message('set scheduler.params.total_num_steps, or write "auto" with the Trainer'), severity="error",
            confidence="certain",
        )  # fmt: skip
    many = whole(total.value) if total is not None and not total.auto else None
    if total is not None and few is not None and many is not None and 0 < many < few:
        yield finding(
            CODE, message("total_num_steps {total} is less than warmup_num_steps {warmup}", total=many, warmup=few),
            total.place,
            (message("Training ends while the learning rate is still rising."),),
            message("count optimizer steps in both"), severity="warning", confidence="certain",
        )  # fmt: skip
