"""DV412: an optimizer that ZeRO, or its offload, does not take (deepspeed/runtime/engine.py, _configure_optimizer)."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import added, removed, written
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member
from devsan.doctor.script import Script
from devsan.doctor.settings import Setting, Settings, real
from devsan.spelling import nearest

CODE = own_code(__name__)

_SPELLED = ("Adagrad", "Adam", "AdamW", "Lamb", "MuAdam", "MuAdamW", "MuSGD", "Lion", "Muon")
_OWN = tuple(name.lower() for name in _SPELLED)  # DeepSpeed does not look at capitals
_ON_HOST = {"adam", "adamw", "adagrad", "lion", "muon"}
_OF_TORCH = ("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer",
             "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "Muon")  # fmt: skip
_TESTED = {"adagrad", "adam", "adamw", "lion", "muon"}
_REMOVED = ("onebitadam", "onebitlamb", "zerooneadam")
_CLIENTS = ("Adam", "AdamW", "SGD", "FusedAdam", "Adafactor", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "Lion")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields optimizers that the engine refuses when it is made."""
    for settings in case.deepspeed():
        kind = settings.get("optimizer.type")
        if kind is not None and isinstance(kind.value, str):
            yield from _by_name(settings, kind)
        yield from _clipping(settings)
        if kind is None:
            for script in case.scripts:
                yield from _by_script(settings, script)


def _by_name(settings: Settings, kind: Setting) -> Iterator[Diagnostic]:
    name = str(kind.value).lower()
    if name in _REMOVED or (name not in _OWN and kind.value not in _OF_TORCH):
        near = nearest(str(kind.value), (*_SPELLED, *_OF_TORCH))
        yield finding(
            CODE, message("DeepSpeed does not provide the optimizer {optimizer}", optimizer=kind.value), kind.place,
            (message("It provides Adam, AdamW, Adagrad, Lamb, Lion and Muon, and accepts the exact class names of "
                     "torch.optim."),),
            message("write {correction}", correction=near) if near else message("write one of these names"),
            severity="error", confidence="likely",
        )  # fmt: skip
        return
    offload = settings.offload("offload_optimizer")
    if offload is not None and settings.stage in (1, 2, 3) and name not in _ON_HOST:
        yield finding(
            CODE,
            message("the optimizer is offloaded, but {optimizer} has no CPU implementation",
                    optimizer=kind.value),
            kind.place,
            (message("{section} keeps the optimizer state and the gradients on the host.", section=offload.name),
             message("DeepSpeed has CPU implementations of Adam, AdamW, Adagrad and Lion.")),
            message("write AdamW: DeepSpeed then creates a DeepSpeedCPUAdam"),
            severity="error" if name == "lamb" else "warning", confidence="likely", sites=(offload.place,),
            others=(message("do not offload the optimizer"),),
        )  # fmt: skip
    elif (
        settings.stage in (1, 2, 3)
        and name not in _TESTED
        and settings.flag("zero_allow_untested_optimizer") is not True
    ):
        yield finding(
            CODE, message("ZeRO was not tested with {optimizer}", optimizer=kind.value),
            kind.place,
            (message("DeepSpeed stops: You are using an untested ZeRO Optimizer."),),
            message('write AdamW, or add "zero_allow_untested_optimizer": true'), severity="error",
            confidence="certain",
        )  # fmt: skip
    if name == "lamb":
        scale = settings.get("fp16.loss_scale")
        fixed = real(scale.value) if scale is not None and not scale.auto else None
        if scale is not None and fixed:
            yield finding(
                CODE, message("Lamb needs dynamic loss scaling, but fp16.loss_scale is fixed"), scale.place,
                (message("DeepSpeed stops: optimizer requires dynamic loss scaling."),),
                message("write {correction}", correction="0"), severity="error", confidence="certain",
                edits=written(settings.document, scale.node, 0),
            )  # fmt: skip


def _clipping(settings: Settings) -> Iterator[Diagnostic]:
    setting = settings.get("optimizer.params.max_grad_norm")
    if setting is not None:
        yield finding(
            CODE, message("max_grad_norm is not an optimizer parameter"), setting.key,
            (message("DeepSpeed stops: the top-level key gradient_clipping configures clipping."),),
            message("remove it, and set gradient_clipping"), severity="error", confidence="certain",
            edits=_to_the_top(settings, setting),
        )  # fmt: skip


def _to_the_top(settings: Settings, setting: Setting) -> tuple[Edit, ...]:
    """The value goes to where DeepSpeed reads it."""
    document = settings.document
    away = removed(document, Member(setting.key, setting.node))
    if settings.has("gradient_clipping") or not away or document.root is None:
        return away
    beside = next((each for each in document.root.members.values() if each.node.kind == "scalar"), None)
    put = added(document, beside, "gradient_clipping", setting.value) if beside is not None else ()
    return (*away, *put) if put and real(setting.value) is not None else ()


def _by_script(settings: Settings, script: Script) -> Iterator[Diagnostic]:
    """An optimizer that the script makes and hands to deepspeed.initialize, while DeepSpeed wants its own."""
    offload = settings.offload("offload_optimizer")
    engine = [call for call in script.named("initialize") if "deepspeed" in call.name or call.says("config")]
    if offload is None or settings.stage not in (1, 2, 3) or not engine or not engine[0].says("optimizer"):
        return
    if script.named("DeepSpeedCPUAdam", "DeepSpeedCPUAdagrad", "DeepSpeedCPULion"):
        return
    if settings.flag("zero_force_ds_cpu_optimizer") is False:
        return
    made = script.named(*_CLIENTS)
    if made:
        yield finding(
            CODE,
            message("the optimizer is offloaded, but {optimizer} is passed to deepspeed.initialize",
                    optimizer=made[0].name),
            made[0].place,
            (message("DeepSpeed stops: You are using ZeRO-Offload with a client provided optimizer."),),
            message("use deepspeed.ops.adam.DeepSpeedCPUAdam instead"), severity="error", confidence="certain",
            sites=(offload.place,),
            others=(message("configure it in the file: {entry}", entry='"optimizer": {"type": "AdamW", ...}'),
                    message('add "zero_force_ds_cpu_optimizer": false, which is slow')),
        )  # fmt: skip
