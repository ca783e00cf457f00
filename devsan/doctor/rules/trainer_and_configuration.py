"""DV416: DeepSpeed's file against the Trainer's arguments.

As HfTrainerDeepSpeedConfig compares them (transformers/integrations/deepspeed.py), which raises only once the model is
loaded; and as Lightning's strategy and DeepSpeedPlugin do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Fix
from devsan.diagnostics.messages import message, plural
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, written
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member
from devsan.doctor.settings import Setting, Settings, real, truth, whole
from devsan.doctor.trainer_arguments import Said, TrainerArguments

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

_MISMATCH = message(
    "The Trainer stops: Please correct the following DeepSpeed config values that mismatch TrainingArguments values."
)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields values that DeepSpeed's file and the Trainer's arguments give differently."""
    said = TrainerArguments.of(case)
    for settings in case.deepspeed():
        if not said.reads(settings):
            continue
        for path, name, default in PAIRS:
            setting = settings.get(path)
            known = said.argument(name, default)
            if setting is None or setting.auto or known is None:
                continue
            if not _same(setting, known.value):
                yield _differs(settings, setting, said, known)
        yield from _warmup(settings, said)
        yield from _product(case, settings, said)
        yield from _lightning(case, settings)


def _warmup(settings: Settings, said: TrainerArguments) -> Iterator[Diagnostic]:
    """trainer_config_finalize: the Trainer's own warmup is one step at least; a fraction is of steps that it counts."""
    setting, known = settings.get("scheduler.params.warmup_num_steps"), said.argument("warmup_steps", 0)
    steps = real(known.value) if known is not None else None
    if setting is None or setting.auto or known is None or steps is None or not steps.is_integer():
        return
    if real(setting.value) != steps and not _same(setting, max(1, int(steps))):
        yield _differs(settings, setting, said, known)


def _same(setting: Setting, value: Any) -> bool:
    if isinstance(setting.value, bool) or isinstance(value, bool) or value in ("True", "False"):
        return truth(setting.value) == truth(value)
    left, right = real(setting.value), real(value)
    if left is None or right is None or isinstance(setting.value, str):
        return False  # "8" is not 8: LlamaFactory's issue 1116
    return left == right


def _differs(settings: Settings, setting: Setting, said: TrainerArguments, known: Said) -> Diagnostic:
    """A value that nobody gave the Trainer yields to that of the file: this one was written on purpose."""
    auto = message('write "auto": the Trainer then fills in its own value')
    edits = written(settings.document, setting.node, "auto", safe=not known.by_default)
    fixes = [Fix(auto, "certain", edits)]
    if not (_second_format(setting, said) or isinstance(setting.value, str)):
        value = setting.value if isinstance(setting.value, bool) else setting.node.written()
        given = message("pass {argument} to the Trainer", argument=known.given_as.format(value=value))
        fixes.insert(0 if known.by_default else 1, Fix(given, "certain"))
    found = finding(
        CODE,
        message("{setting} is {value}, but the Trainer gets {argument}", setting=setting.name,
                value=setting.node.written(), argument=known.shown),
        setting.place, (_MISMATCH,), auto, severity="error", confidence="certain",
        sites=(known.place,) if known.place is not None else (),
    )  # fmt: skip
    return replace(found, fixes=tuple(fixes))


def _second_format(setting: Setting, said: TrainerArguments) -> bool:
    """Whether the file enables a 16-bit format beside the Trainer's other one, which excludes it."""
    other = {"fp16.enabled": "bf16", "bf16.enabled": "fp16"}.get(setting.name)
    return other is not None and bool(truth(setting.value)) and said.enables(other) is not None


def _product(case: Case, settings: Settings, said: TrainerArguments) -> Iterator[Diagnostic]:
    setting, product = settings.get("train_batch_size"), said.product(case.world)
    train = whole(setting.value) if setting is not None and not setting.auto else None
    if setting is None or product is None or train is None or train == product.value:
        return
    own = [settings.get(name) for name in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")]
    agrees = all(each is None or each.auto or _same(each, value)
                 for each, value in zip(own, (product.batch, product.steps), strict=True))  # fmt: skip
    yield finding(
        CODE,
        message("train_batch_size is {value}, but the Trainer computes {product} = {right}", value=train,
                product=plural("{product} * {n} rank", "{product} * {n} ranks", case.world,
                               product=f"{product.batch} * {product.steps}"),
                right=product.value),
        setting.place,
        (_MISMATCH,), message("write {correction}", correction='"auto"'), severity="error", confidence="certain",
        sites=product.places,
        others=(message("write {correction}", correction=product.value),) if agrees else (),
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
