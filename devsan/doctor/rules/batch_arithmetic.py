"""DV413: train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * ranks.

As DeepSpeedConfig._set_batch_related_parameters and _batch_assertion compute it (deepspeed/runtime/config.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Place
from devsan.diagnostics.messages import Message, message, plural
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import written
from devsan.doctor.findings import finding
from devsan.doctor.settings import Setting, Settings
from devsan.doctor.trainer_arguments import TrainerArguments

CODE = own_code(__name__)

_TRAIN, _MICRO, _STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"

# Ranks that share one sample, or a model, do not count.
_GROUPING = ("sequence_parallel_size", "tensor_parallel", "pipeline", "expert_parallel")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields batch sizes that do not agree."""
    said = TrainerArguments.of(case)
    for settings in case.deepspeed():
        if settings.by_accelerate:
            continue
        given = {name: settings.get(name) for name in (_TRAIN, _MICRO, _STEPS)}
        if any(setting is not None and setting.auto for setting in given.values()):
            continue  # the Trainer and accelerate compute it; the trainer rule compares what is not "auto"
        numbers = {name: settings.number(name) for name in given}
        if any(given[name] is not None and numbers[name] is None for name in given):
            continue  # no number: DV410
        if said.reads(settings) and said.product(case.world) is not None:
            continue  # the Trainer compares these values with its own (DV416), and stops before DeepSpeed reads them
        world = 0 if any(settings.has(name) for name in _GROUPING) else case.world_of(settings.document)
        found = _checked(given, numbers, world, case, settings)
        if found is not None:
            yield found


def _checked(
    given: dict[str, Setting | None], numbers: dict[str, int | None], world: int, case: Case, settings: Settings
) -> Diagnostic | None:
    below = next((name for name in given if numbers[name] is not None and (numbers[name] or 0) <= 0), None)
    if below is not None:
        return _finding(
            message("{setting} is {value}, expected a positive integer", setting=below, value=numbers[below]),
            given[below], (), message("write 1 or more"),
        )  # fmt: skip
    train, micro, steps = numbers[_TRAIN], numbers[_MICRO], numbers[_STEPS]
    if train is None and micro is None:
        return _missing(case, settings)
    if train is None or (micro is None and not world):
        return None  # whatever is missing is computed, and fits
    each = (micro or 1) * (steps or 1)
    if micro is None or steps is None:
        if train % (each * (world or 1)) == 0:
            return None
    elif (world and train == each * world) or (not world and train % each == 0):
        return None
    right = each * (world or 1)
    product = " * ".join(str(number) for number in (micro, steps) if number is not None) or "1"
    if world:
        product = plural("{product} * {n} rank", "{product} * {n} ranks", world, product=product)
    if micro is not None and steps is not None:
        title = message("train_batch_size is {value}, but {product} = {right}", value=train, product=product,
                        right=right)  # fmt: skip
    else:
        title = message("train_batch_size {value} is not a multiple of {product}", value=train, product=product)
    evidence = [message("DeepSpeed stops unless train_batch_size = micro batch * accumulation steps * ranks.")]
    if world:
        evidence.append(plural("{source} starts {n} rank.", "{source} starts {n} ranks.", world,
                               source=case.world_source()))  # fmt: skip
    exact = micro is not None and steps is not None and bool(world)
    fix = (message("write {correction}", correction=right) if exact
              else message("write a multiple of {number}", number=right))  # fmt: skip
    others = [message("remove train_batch_size: DeepSpeed computes it")] if micro is not None else []
    if world and train % each == 0 and micro is not None and train // each != world:
        others.append(plural("start {n} rank", "start {n} ranks", train // each))
    sites = tuple(setting.place for name, setting in given.items() if setting is not None and name != _TRAIN)
    own = given[_TRAIN]
    edits = written(settings.document, own.node, right) if own is not None and exact else ()
    return _finding(title, own, tuple(evidence), fix, tuple(others), sites, edits)


def _missing(case: Case, settings: Settings) -> Diagnostic | None:
    filled = case.filled_by()
    if filled in ("Trainer", "accelerate", "Lightning"):
        return None
    root = settings.document.root
    assert root is not None
    return finding(
        CODE, message("neither train_batch_size nor train_micro_batch_size_per_gpu is set"),
        Place(root.place.file, root.place.line, root.place.column),
        (message("DeepSpeed stops: one of them needs to be provided."),),
        message('add "train_micro_batch_size_per_gpu"; with the Trainer or accelerate it can be "auto"'),
        severity="error" if filled == "nobody" else "warning" if case.launch.launcher else "note",
        confidence="certain" if filled == "nobody" else "likely",
    )  # fmt: skip


def _finding(
    title: Message, setting: Setting | None, evidence: tuple[Message, ...], fix: Message,
    others: tuple[Message, ...] = (), sites: tuple[Place, ...] = (), edits: tuple[Edit, ...] = (),
) -> Diagnostic:  # fmt: skip
    return finding(
        CODE, title, setting.place if setting is not None else None,
        evidence or (message("DeepSpeed stops when it reads the file."),), fix, severity="error",
        confidence="certain", others=others, sites=sites, edits=edits,
    )  # fmt: skip
