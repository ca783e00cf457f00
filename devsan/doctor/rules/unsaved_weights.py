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
from devsan.doctor.settings import Setting, Settings

CODE = own_code(__name__)

_GATHER = "zero_optimization.stage3_gather_16bit_weights_on_model_save"


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields stage 3 without gathering, where the Trainer or accelerate saves the model."""
    for settings in case.deepspeed():
        if settings.stage != 3:
            continue
        setting = settings.get(_GATHER)
        if setting is not None and (setting.auto or settings.flag(_GATHER) is not False):
            continue
        saver = case.filled_by()
        if saver not in ("Trainer", "accelerate"):
            continue
        place = setting.place if setting is not None else _stage_place(settings)
        name = "zero3_save_16bit_model" if settings.by_accelerate else _GATHER.rpartition(".")[2]
        yield finding(
            CODE, message("stage 3 shards the weights, but they are not gathered when the model is saved"), place,
            (message("{setting} is not set: the saved model has no weights.", setting=name) if setting is None
             else message("{setting} is false: the saved model has no weights.", setting=name),
             message("The Trainer saves DeepSpeed's shards instead, which zero_to_fp32.py merges.")
             if saver == "Trainer"
             else message("accelerate saves DeepSpeed's shards instead, which zero_to_fp32.py joins.")),
            message("set {setting} to true", setting=name), severity="warning", confidence="certain",
            edits=_edits(settings, setting, name),
            others=(message("merge the shards after training: python zero_to_fp32.py . pytorch_model.bin"),),
        )  # fmt: skip


def _edits(settings: Settings, setting: Setting | None, name: str) -> tuple[Edit, ...]:
    if setting is not None:
        return written(settings.document, setting.node, True)
    stage = settings.get("zero_optimization.stage")
    return added(settings.document, Member(stage.key, stage.node), name, True) if stage is not None else ()


def _stage_place(settings: Settings) -> Place | None:
    stage = settings.get("zero_optimization.stage")
    return stage.place if stage is not None else None
