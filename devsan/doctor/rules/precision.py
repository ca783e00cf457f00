"""DV414: 16-bit formats against each other, the GPUs and the rest of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.document import Document
from devsan.doctor.driver import Gpu
from devsan.doctor.findings import finding
from devsan.doctor.settings import Setting, Settings
from devsan.doctor.trainer_arguments import TrainerArguments

CODE = own_code(__name__)

# Of the T5 family; t5-small is the one that fp16 holds (transformers 9295).
_T5 = re.compile(r"(flan-|m|um|by|long-)?t5-(?!small|v1_1-small)")
BF16_FROM = 8.0  # compute capability: CUDA C++ Programming Guide; torch.cuda.is_bf16_supported without emulation
FP16_FROM = 7.0  # deepspeed/accelerator/cuda_accelerator.py, is_fp16_supported; DS_ALLOW_DEPRECATED_FP16=1 allows 6.x


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields formats that exclude each other, or that a visible GPU does not have."""
    yield from _arguments(case)
    for settings in case.deepspeed():
        half, brain = settings.get("fp16.enabled"), settings.get("bf16.enabled")
        on = {name: setting for name, setting in (("fp16", half), ("bf16", brain))
              if setting is not None and settings.flag(f"{name}.enabled") is True}  # fmt: skip
        if len(on) == 2:
            yield finding(
                CODE, message("fp16 and bf16 are both enabled"), on["bf16"].place,
                (message("DeepSpeed stops: bfloat16 and fp16 modes cannot be simultaneously enabled."),),
                message("enable only bf16 on Ampere or newer GPUs, only fp16 on older ones"), severity="error",
                confidence="certain", sites=(on["fp16"].place,),
            )  # fmt: skip
        for name, setting in on.items():
            yield from _hardware(case, name, setting.place)
            if name == "fp16":
                yield from _overflowing(case, setting.place)
        yield from _reduction(settings)
        yield from _masters(settings, on)
    for document in case.of_kind("accelerate"):
        member = document.at("mixed_precision")
        if member is not None and member.node.value in ("fp16", "bf16"):
            yield from _hardware(case, str(member.node.value), member.node.place)
        if member is not None and member.node.value == "fp16":
            yield from _overflowing(case, member.node.place)
        yield from _two_files(case, document)


def _arguments(case: Case) -> Iterator[Diagnostic]:
    """The Trainer's arguments (TrainingArguments._validate_args)."""
    said = TrainerArguments.of(case)
    half, brain = said.enables("fp16"), said.enables("bf16")
    if half is None or brain is None:
        return
    yield finding(
        CODE, message("the Trainer gets {first} and {second}", first=half.shown, second=brain.shown), brain.place,
        (message("The Trainer stops: At most one of fp16 and bf16 can be True, but not both."),),
        message("enable only bf16 on Ampere or newer GPUs, only fp16 on older ones"), severity="error",
        confidence="certain", sites=(half.place,) if half.place is not None else (),
        subject="" if brain.place is not None else case.launch.shown(),
    )  # fmt: skip


def _overflowing(case: Case, place: Place) -> Iterator[Diagnostic]:
    """The model that is loaded was trained in bf16, and its values do not fit fp16 (transformers 9295, 23918)."""
    for script in case.scripts:
        for call in script.named("from_pretrained"):
            name = call.first.rpartition("/")[2].lower()
            if not _T5.match(name):
                continue
            yield finding(
                CODE, message("fp16 is enabled, but {model} was trained in bf16", model=call.first), place,
                (message("Its hidden states exceed 65504, the largest fp16 value: the loss becomes NaN."),),
                message("use bf16 on Ampere or newer GPUs, fp32 on older ones"), severity="warning",
                confidence="likely", sites=(call.place,),
            )  # fmt: skip
            return


def _hardware(case: Case, name: str, place: Place) -> Iterator[Diagnostic]:
    needed = BF16_FROM if name == "bf16" else FP16_FROM
    lacking = [gpu for gpu in case.facts.visible_gpus() if gpu.capability and float(gpu.capability) < needed]
    if name == "fp16" and case.facts.variables.get("DS_ALLOW_DEPRECATED_FP16") == "1":
        lacking = []
    if not lacking:
        return
    fix = (
        message("use fp16 on these GPUs")
        if name == "bf16" and all(_has_half(gpu) for gpu in lacking)
        else message("use fp32 on these GPUs")
    )
    yield finding(
        CODE, message("{precision} is enabled, but {gpus} does not support it", precision=name, gpus=_listed(lacking)),
        place,
        (message("{gpu} has compute capability {capability}, and {precision} needs {needed}.", gpu=lacking[0].name,
                 capability=lacking[0].capability, precision=name, needed=needed),),
        fix, severity="error", confidence="certain",
    )  # fmt: skip


def _has_half(gpu: Gpu) -> bool:
    return float(gpu.capability) >= FP16_FROM


def _listed(gpus: list[Gpu]) -> str:
    first = f"GPU {gpus[0].index} ({gpus[0].name})"
    more = len(gpus) - 1
    return message("{gpu} and {n} more", gpu=first, n=more) if more else first


def _reduction(settings: Settings) -> Iterator[Diagnostic]:
    setting = settings.get("gradient_allreduce_op")
    if setting is not None and str(setting.value).lower() == "sum" and settings.stage == 3:
        yield finding(
            CODE, message("gradient_allreduce_op is sum, which ZeRO stage 3 does not support"), setting.place,
            (message("DeepSpeed stops: gradient_allreduce_op='sum' is not supported with ZeRO stage 3."),),
            message("write {correction}", correction='"mean"'), severity="error", confidence="certain",
        )  # fmt: skip


def _masters(settings: Settings, on: dict[str, Setting]) -> Iterator[Diagnostic]:
    for name in ("fp16", "bf16"):
        setting = settings.get(f"{name}.{name}_master_weights_and_grads")
        if setting is not None and settings.flag(setting.name) is True and settings.stage == 0:
            yield finding(
                CODE,
                message("{precision}_master_weights_and_grads needs ZeRO, which is disabled (stage 0)", precision=name),
                setting.place,
                (message("DeepSpeed stops when it reads the file."),), message("use stage 1, 2 or 3"), severity="error",
                confidence="certain",
            )  # fmt: skip
    states = settings.get("bf16.bf16_optimizer_states")
    master = settings.flag("bf16.bf16_master_weights_and_grads")
    if states is not None and settings.flag("bf16.bf16_optimizer_states") is True and master is not True:
        yield finding(
            CODE, message("bf16_optimizer_states needs bf16_master_weights_and_grads"), states.place,
            (message("DeepSpeed stops when it reads the file."),), message("enable both"), severity="error",
            confidence="certain",
        )  # fmt: skip


def _two_files(case: Case, document: Document) -> Iterator[Diagnostic]:
    """accelerate's mixed_precision beside what DeepSpeed's own file enables."""
    member = document.at("mixed_precision")
    if member is None or member.node.value not in ("fp16", "bf16"):
        return
    wanted = str(member.node.value)
    for settings in case.deepspeed():
        if settings.by_accelerate or case.partner(settings.document) is not document:
            continue
        other = "bf16" if wanted == "fp16" else "fp16"
        enabled = settings.get(f"{other}.enabled")
        if enabled is not None and settings.flag(f"{other}.enabled") is True:
            yield finding(
                CODE,
                message("accelerate is configured for {precision}, but DeepSpeed for {other}", precision=wanted,
                        other=other),
                member.node.place,
                (message("With deepspeed_config_file, accelerate takes the precision from that file."),),
                message("remove mixed_precision, or set it to {other}", other=other), severity="error",
                confidence="likely", sites=(enabled.place,),
            )  # fmt: skip
