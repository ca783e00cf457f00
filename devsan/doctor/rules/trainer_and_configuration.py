"""DV416: DeepSpeed's file against the Trainer's arguments.

As HfTrainerDeepSpeedConfig compares them (transformers/integrations/deepspeed.py), which raises only once the model is
loaded; and as Lightning's strategy and DeepSpeedPlugin do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message, plural
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, written
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member
from devsan.doctor.script import Call, Parsed
from devsan.doctor.settings import Setting, Settings, real, truth, whole

CODE = own_code(__name__)

# DeepSpeed's setting, the Trainer's argument, its default.
PAIRS: tuple[tuple[str, str, Any], ...] = (
    ("train_micro_batch_size_per_gpu", "per_device_train_batch_size", 8),
    ("gradient_accumulation_steps", "gradient_accumulation_steps", 1),
    ("gradient_clipping", "max_grad_norm", 1.0),
    ("optimizer.params.lr", "learning_rate", 5e-5),
    ("optimizer.params.eps", "adam_epsilon", 1e-8),
    ("optimizer.params.weight_decay", "weight_decay", 0.0),
    ("scheduler.params.warmup_max_lr", "learning_rate", 5e-5),
    ("fp16.enabled", "fp16", False),
    ("bf16.enabled", "bf16", False),
)

_OTHERS = {
    "per_device_train_batch_size": ("per_gpu_train_batch_size", "auto_find_batch_size"),
    "warmup_steps": ("warmup_ratio",),
}
"""Arguments that change what another one leaves to its default."""

_MISMATCH = message(
    "The Trainer stops: Please correct the following DeepSpeed config values that mismatch TrainingArguments values."
)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields values that DeepSpeed's file and the Trainer's arguments give differently."""
    call = next((found for script in case.scripts if (found := script.training_arguments())), None)
    parsed = next((parsed for script in case.scripts if (parsed := script.parsed_arguments())), None)
    said = _Said(call, parsed if call is None else None, case.launch.script_options())
    named = call.arguments["deepspeed"].value if call is not None and "deepspeed" in call.arguments else None
    for settings in case.deepspeed():
        other = isinstance(named, str) and os.path.basename(named) != os.path.basename(settings.document.file)
        if settings.by_accelerate or other:
            continue
        for path, name, default in PAIRS:
            setting = settings.get(path)
            known = said.argument(name, default)
            if setting is None or setting.auto or known is None:
                continue
            value, shown, place = known
            if not _same(setting, value):
                yield _differs(settings, setting, shown, place, value)
        yield from _warmup(settings, said)
        yield from _product(case, settings, said)
        yield from _lightning(case, settings)


@dataclass(frozen=True)
class _Said:
    """What the Trainer is given: in a call of the script, or on the command line, which a parser reads."""

    call: Call | None
    parsed: Parsed | None
    words: Mapping[str, str]

    def argument(self, name: str, default: Any) -> tuple[Any, str, Place | None] | None:
        """Returns the value, how it was said, and where; None where it is not known."""
        if name in self.words:
            return self.words[name], f"--{name} {self.words[name]}", None
        if self.call is not None and name in self.call.others:
            return None
        if self.call is not None and name in self.call.arguments:
            argument = self.call.arguments[name]
            return argument.value, argument.shown, argument.place
        place = self._decides_by_default(name)
        if place is None:
            return None
        return default, message("{argument}={value} (the default)", argument=name, value=default), place

    def _decides_by_default(self, name: str) -> Place | None:
        """What leaves an argument to its default: nobody else can have given it, in full or abbreviated."""
        others = [f"{name}_full_eval"] if name in ("fp16", "bf16") else _OTHERS.get(name, ())
        if self.call is not None:
            plain = self.call.whole and not self.words and self.call.name.rpartition(".")[2] == "TrainingArguments"
            return self.call.place if plain and not any(self.call.says(each) for each in others) else None
        if self.parsed is None or not self.words or name in self.parsed.own:
            return None
        given = any(name.startswith(word) or word in others for word in self.words)
        return None if given else self.parsed.place


def _warmup(settings: Settings, said: _Said) -> Iterator[Diagnostic]:
    """trainer_config_finalize: the Trainer's own warmup is one step at least; a fraction is of steps that it counts."""
    setting, known = settings.get("scheduler.params.warmup_num_steps"), said.argument("warmup_steps", 0)
    steps = real(known[0]) if known is not None else None
    if setting is None or setting.auto or known is None or steps is None or not steps.is_integer():
        return
    if real(setting.value) != steps and not _same(setting, max(1, int(steps))):
        yield _differs(settings, setting, known[1], known[2], max(1, int(steps)))


def _same(setting: Setting, value: Any) -> bool:
    if isinstance(setting.value, bool) or isinstance(value, bool) or value in ("True", "False"):
        return truth(setting.value) == truth(value)
    left, right = real(setting.value), real(value)
    if left is None or right is None or isinstance(setting.value, str):
        return False  # "8" is not 8: LlamaFactory's issue 1116
    return left == right


def _differs(settings: Settings, setting: Setting, shown: str, place: Place | None, value: Any) -> Diagnostic:
    return finding(
        CODE,
        message("{setting} is {value}, but the Trainer gets {argument}", setting=setting.name,
                value=setting.node.written(), argument=shown),
        setting.place,
        (_MISMATCH,), message('write "auto": the Trainer then fills in its own value'), severity="error",
        confidence="certain", sites=(place,) if place is not None else (),
        others=(message("pass {value} to the Trainer", value=setting.node.written()),),
        edits=written(settings.document, setting.node, "auto"),
    )  # fmt: skip


def _product(case: Case, settings: Settings, said: _Said) -> Iterator[Diagnostic]:
    setting = settings.get("train_batch_size")
    batch = said.argument("per_device_train_batch_size", 8)
    steps = said.argument("gradient_accumulation_steps", 1)
    world = case.world
    if setting is None or setting.auto or batch is None or steps is None or not world:
        return
    each, many, train = whole(batch[0]), whole(steps[0]), whole(setting.value)
    if None in (each, many, train) or train == (each or 0) * (many or 0) * world:
        return
    right = (each or 0) * (many or 0) * world
    yield finding(
        CODE,
        message("train_batch_size is {value}, but the Trainer computes {product} = {right}", value=train,
                product=plural("{product} * {n} rank", "{product} * {n} ranks", world, product=f"{each} * {many}"),
                right=right),
        setting.place,
        (_MISMATCH,), message("write {correction}", correction='"auto"'), severity="error", confidence="certain",
        sites=tuple(place for place in (batch[2], steps[2]) if place is not None),
        others=(message("write {correction}", correction=right),),
        edits=written(settings.document, setting.node, "auto"),
    )  # fmt: skip


def _lightning(case: Case, settings: Settings) -> Iterator[Diagnostic]:
    """Lightning's Trainer has its own accumulation and precision, and refuses them in the file."""
    for script in case.scripts:
        if not script.uses("lightning", "pytorch_lightning", "lightning_fabric"):
            continue
        for call in script.named("Trainer"):
            steps = settings.get("gradient_accumulation_steps")
            own = call.arguments.get("accumulate_grad_batches")
            if steps is not None and not steps.auto:
                yield finding(
                    CODE,
                    message("the file sets gradient_accumulation_steps, which Lightning's Trainer sets itself "
                            "({argument})",
                            argument=own.shown) if own is not None
                    else message("the file sets gradient_accumulation_steps, which Lightning's Trainer sets itself"),
                    steps.place,
                    (message("Lightning stops: do not set gradient_accumulation_steps in the DeepSpeed config."),),
                    message("remove it, and use Trainer(accumulate_grad_batches=...)"), severity="error",
                    confidence="certain", sites=(own.place,) if own is not None else (),
                    edits=removed(settings.document, Member(steps.key, steps.node)) if own is not None else (),
                )  # fmt: skip
            by_value = call.arguments.get("gradient_clip_algorithm")
            if by_value is not None and by_value.value == "value":
                yield finding(
                    CODE, message("gradient clipping by value is configured, but DeepSpeed clips by norm only"),
                    by_value.place,
                    (message("Lightning stops: DeepSpeed does not support clipping gradients by value."),),
                    message("write {correction}", correction='gradient_clip_algorithm="norm"'), severity="error",
                    confidence="certain",
                )  # fmt: skip
            precision = call.arguments.get("precision")
            if precision is None:
                continue
            wanted = {"16-mixed": "fp16", "16-true": "fp16", "bf16-mixed": "bf16", "bf16-true": "bf16"}.get(
                str(precision.value)
            )
            other = {"fp16": "bf16", "bf16": "fp16"}.get(wanted or "")
            enabled = settings.get(f"{other}.enabled") if other else None
            if enabled is not None and settings.flag(f"{other}.enabled") is True:
                yield finding(
                    CODE,
                    message("the file enables {precision}, but the Trainer gets {argument}", precision=other,
                            argument=precision.shown),
                    enabled.place,
                    (message("Lightning adds its own section, and DeepSpeed then gets both."),),
                    message("remove {precision} from the file", precision=other), severity="error", confidence="likely",
                    sites=(precision.place,),
                )  # fmt: skip
