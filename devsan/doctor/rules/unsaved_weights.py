"""DV415: weights that are sharded, and nobody gathers them when the model is saved."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Place
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import added, written
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member
from devsan.doctor.saves import Save
from devsan.doctor.settings import Setting, Settings

CODE = own_code(__name__)

_GATHER = "zero_optimization.stage3_gather_16bit_weights_on_model_save"

_SAVED = {
    "Trainer": message("The Trainer saves DeepSpeed's shards instead, which zero_to_fp32.py merges."),
    "accelerate": message("accelerate saves DeepSpeed's shards instead, which zero_to_fp32.py joins."),
}

_EMPTY = message(
    "Outside of a step every parameter is an empty tensor, except the small ones that DeepSpeed keeps whole "
    "(stage3_param_persistence_threshold)."
)
_OF_ENGINE = message("on every rank, call the engine's save_16bit_model, or save_checkpoint")
_OF_TRAINER = message("call the trainer's save_model on every rank")
_INSTEAD = {
    ("deepspeed", "state_dict"): _OF_ENGINE,
    ("deepspeed", "save_pretrained"): _OF_ENGINE,
    ("Trainer", "state_dict"): _OF_TRAINER,
    ("Trainer", "save_pretrained"): _OF_TRAINER,
    ("accelerate", "state_dict"): message("on every rank, take the weights from accelerator.get_state_dict(model)"),
    ("accelerate", "save_pretrained"): message("on every rank, pass state_dict=accelerator.get_state_dict(model)"),
}


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields stage 3 where what is saved has no weights: nobody gathers them."""
    for settings in case.deepspeed():
        if settings.stage == 3:
            yield from _ungathered(case, settings)
            for script in case.scripts:
                yield from map(_bypassed, script.saves)


def _ungathered(case: Case, settings: Settings) -> Iterator[Diagnostic]:
    """The setting that lets DeepSpeed gather, where somebody saves by it."""
    setting = settings.get(_GATHER)
    if setting is not None and (setting.auto or settings.flag(_GATHER) is not False):
        return
    saved = _SAVED.get(case.filled_by())
    if saved is None and any(script.named("save_16bit_model") for script in case.scripts):
        saved = message("save_16bit_model then writes nothing, and returns False.")
    if saved is None:
        return
    place = setting.place if setting is not None else _stage_place(settings)
    name = "zero3_save_16bit_model" if settings.by_accelerate else _GATHER.rpartition(".")[2]
    yield finding(
        CODE, message("stage 3 shards the weights, but they are not gathered when the model is saved"), place,
        (message("{setting} is not set: the saved model has no weights.", setting=name) if setting is None
         else message("{setting} is false: the saved model has no weights.", setting=name), saved),
        message("set {setting} to true", setting=name), severity="warning", confidence="certain",
        edits=_edits(settings, setting, name),
        others=(message("merge the shards after training: python zero_to_fp32.py . pytorch_model.bin"),),
    )  # fmt: skip


def _bypassed(save: Save) -> Diagnostic:
    """A save past the engine: each rank writes what it holds of a parameter, which is nothing."""
    return finding(
        CODE,
        message("stage 3 shards the weights, and `{shown}` gathers none", shown=f"{save.model}.{save.call}()"),
        save.place, (_EMPTY,), _INSTEAD[save.owner, save.call], severity="warning", confidence="certain",
    )  # fmt: skip


def _edits(settings: Settings, setting: Setting | None, name: str) -> tuple[Edit, ...]:
    if setting is not None:
        return written(settings.document, setting.node, True)
    stage = settings.get("zero_optimization.stage")
    return added(settings.document, Member(stage.key, stage.node), name, True) if stage is not None else ()


def _stage_place(settings: Settings) -> Place | None:
    stage = settings.get("zero_optimization.stage")
    return stage.place if stage is not None else None
