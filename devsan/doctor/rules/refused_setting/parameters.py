"""DV410: keys of optimizer.params and scheduler.params that the class does not take, and numbers in quotes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, renamed, written
from devsan.doctor.document import Document
from devsan.doctor.findings import finding
from devsan.doctor.installed.optimizers import optimizer_arguments, scheduler_arguments
from devsan.doctor.nodes import Member, Node
from devsan.doctor.settings import Settings, real, whole
from devsan.spelling import nearest

CODE = own_code(__name__)

_SECTIONS = {"optimizer": optimizer_arguments, "scheduler": scheduler_arguments}
_BY_SCRIPT = {"optimizer": "optimizer", "scheduler": "lr_scheduler"}
"""What a script passes to deepspeed.initialize in the place of a section."""

_TOLD_ELSEWHERE = "max_grad_norm"
_NUMBERS = frozenset({
    "lr", "eps", "weight_decay", "momentum", "dampening", "alpha", "warmup_min_lr", "warmup_max_lr", "warmup_num_steps",
    "total_num_steps", "cycle_min_lr", "cycle_max_lr", "cos_min_ratio", "warmup_min_ratio", "lr_range_test_min_lr",
    "lr_range_test_step_size", "lr_range_test_step_rate",
})  # fmt: skip
"""What the classes of torch.optim and DeepSpeed calculate with."""

_CLOSE = 0.7  # how alike a key and the one that was meant are: warmup_steps, warmup_num_steps


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields what the class is not made with; which keys it takes is read from the installed DeepSpeed and torch."""
    if case.filled_by() != "Trainer":  # which compares them with its own (DV416)
        for settings in case.deepspeed():
            for section in _SECTIONS if not settings.by_accelerate else ():
                if not _is_by_script(case, section):
                    yield from _in_quotes(settings, section)
    installed = case.facts.installed
    if installed is None:
        return
    for settings in case.deepspeed():
        for section, arguments in _SECTIONS.items() if not settings.by_accelerate else ():
            kind, given = settings.get(f"{section}.type"), settings.get(f"{section}.params")
            if kind is None or given is None or not isinstance(kind.value, str) or _is_by_script(case, section):
                continue
            taken = arguments(installed, kind.value)
            for name, member in given.node.members.items() if taken else ():
                if name not in taken and name != _TOLD_ELSEWHERE:
                    path = f"{section}.params.{name}"
                    yield _unknown(settings.document, given.node, (path, kind.value), name, member, taken)


def _in_quotes(settings: Settings, section: str) -> Iterator[Diagnostic]:
    kind, given = settings.get(f"{section}.type"), settings.get(f"{section}.params")
    if kind is None or given is None or not isinstance(kind.value, str):
        return
    for name, member in given.node.members.items():
        number = real(member.node.value) if isinstance(member.node.value, str) and name in _NUMBERS else None
        if number is not None and math.isfinite(number):
            whole_number = whole(member.node.value) if "." not in member.node.value else None
            value = number if whole_number is None else whole_number
            yield finding(
                CODE,
                message("{setting} is {value}, expected {expected}", setting=f"{section}.params.{name}",
                        value=member.node.written(), expected=message("a number")),
                member.place,
                (message("DeepSpeed passes the string on; the class calculates with it and raises a TypeError."),),
                message("write {correction}", correction=json.dumps(value)), severity="error", confidence="certain",
                edits=written(settings.document, member.node, value),
            )  # fmt: skip


def _is_by_script(case: Case, section: str) -> bool:
    """Whether the script may make it itself: then the section is not read."""
    calls = [call for script in case.scripts for call in script.calls if call.name == "deepspeed.initialize"]
    return any(call.says(_BY_SCRIPT[section]) or not call.says("model") or not call.whole for call in calls)


def _unknown(
    document: Document, around: Node, said: tuple[str, str], name: str, member: Member, taken: frozenset[str]
) -> Diagnostic:  # fmt: skip
    path, kind = said
    near = nearest(name, sorted(taken - around.members.keys()), _CLOSE)
    edits = renamed(document, member.place, near) if near else ()
    return finding(
        CODE, message("{kind} has no parameter {setting}", kind=kind, setting=path), member.place,
        (message("DeepSpeed passes every key to the class, which raises a TypeError."),
         message("It takes {values}.", values=", ".join(sorted(taken)))),
        message("write {correction}", correction=near) if near else message("remove it"), severity="error",
        confidence="certain", edits=edits or (removed(document, member, False) if not near else ()),
    )  # fmt: skip
