"""DV421: options of a launcher, and their values, that the installed launcher refuses or does not see."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.installed.module import Module
from devsan.doctor.installed.options import Option, compared, is_number, options_named, options_of, takes_abbreviations
from devsan.doctor.launch import COUNTS, LaunchFacts
from devsan.doctor.script import Script
from devsan.spelling import nearest

CODE = own_code(__name__)

_PARSERS = {
    "torchrun": "torch.distributed.run",
    "deepspeed": "deepspeed.launcher.runner",
    "accelerate": "accelerate.commands.launch",
}
"""Where each launcher says what it takes."""

_OF_OTHER_DEVICES = ("hpu", "maia", "mlu", "mtia", "musa", "npu", "privateuseone", "sdaa", "xla")
"""What torchrun also takes as a number of ranks, where another package gives torch such a backend."""

_REFUSAL = "num_nodes/gpus"
"""What main of deepspeed/launcher/runner.py says where it takes only one of the two."""

_NODES = re.compile(r"\s*\d+\s*(:\s*\d+\s*)?")
_CLOSE = 0.7  # how alike an option and the one that was meant are
_NUMBERS = {"int": message("an integer"), "float": message("a number")}


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields what stops the launcher before it starts a rank, and what it does not see."""
    launch = case.launch
    name = _PARSERS.get(launch.launcher)
    module = case.facts.installed.module(name) if case.facts.installed is not None and name is not None else None
    if module is None:
        return
    options = options_of(module)
    may_abbreviate = takes_abbreviations(module)
    names = [name for option in options for name in option.names if len(name) > 1]
    for word, value in launch.options.items():
        named = options_named(options, word, may_abbreviate)
        if len(named) == 1:
            expected, near = _expected(module, named[0], value)
            if expected:
                yield _refused(launch, _as_said(launch, word), value, expected, near)
        elif len(word) > 1 and not named:
            near = nearest(word, names, _CLOSE)
            if near:
                yield _unknown(launch, _as_said(launch, word), near)
    yield from _excluding(launch, module)
    for word in launch.script_options():
        read = not case.scripts or any(script.mentions(word) or _has_more(script) for script in case.scripts)
        if word in COUNTS[launch.launcher] and options_named(options, word, False) and not read:
            yield _behind(launch, word)


def _expected(module: Module, option: Option, value: str) -> tuple[Message | None, str | None]:
    """What a value should have been, and what was meant; None where the launcher takes it."""
    if "nproc_per_node" in option.names:
        words = compared(module, "determine_local_world_size", "nproc_per_node")
        if not words or value in words or value in _OF_OTHER_DEVICES or is_number(value):
            return None, None
        said = message("an integer or one of {choices}", choices=", ".join(sorted(words)))
        return said, nearest(value, sorted(words))
    if "nnodes" in option.names and not option.type:
        return (None if _NODES.fullmatch(value) else message("an integer or MIN:MAX")), None
    if not option.refuses(value):
        return None, None
    if option.type:
        return _NUMBERS[option.type], None
    return message("one of {choices}", choices=", ".join(option.choices)), nearest(value, option.choices)


def _refused(launch: LaunchFacts, option: str, value: str, expected: Message, near: str | None) -> Diagnostic:
    title = message("{setting} is {value}, expected {expected}", setting=option, value=value, expected=expected)
    return _told(launch, title, message("write {correction}", correction=near or expected))


def _unknown(launch: LaunchFacts, option: str, near: str) -> Diagnostic:
    title = message("{launcher} has no option {option}", launcher=launch.launcher, option=option)
    return _told(launch, title, message("write {correction}", correction=f"--{near}"))


def _excluding(launch: LaunchFacts, module: Module) -> Iterator[Diagnostic]:
    """Options of deepspeed that say twice which GPUs to take."""
    chosen = [name for name in ("include", "exclude") if launch.options.get(name)]
    counts = ("num_gpus", "num_accelerators", "num_nodes")
    counted = [name for name in counts if not launch.options.get(name, "-").startswith("-")]
    if chosen and counted and _REFUSAL in module.text:
        counts_said = ", ".join(_as_said(launch, name) for name in counted)
        title = message("{launcher} refuses {option} beside {other}", launcher=launch.launcher,
                        option=counts_said, other=_as_said(launch, chosen[0]))  # fmt: skip
        yield _told(launch, title, message("leave out {option}", option=counts_said))


def _has_more(script: Script) -> bool:
    """Whether it imports modules of its own folder, which may read the command line."""
    folder = os.path.dirname(os.path.abspath(script.file))
    return any(os.path.exists(os.path.join(folder, f"{package}{ending}"))
               for package in script.imports.packages for ending in (".py", os.sep))  # fmt: skip


def _behind(launch: LaunchFacts, name: str) -> Diagnostic:
    """An option of the launcher that its script is given, which does not read it."""
    option, script = _as_said(launch, name), os.path.basename(launch.script)
    return finding(
        CODE, message("{option} comes after {script} and is passed to it, not to {launcher}", option=option,
                      script=script, launcher=launch.launcher),
        None, (message("{script} does not mention {name}.", script=script, name=name),
               message("{launcher} starts as many ranks as without the option.", launcher=launch.launcher)),
        message("write {option} before {script}", option=option, script=script),
        subject=launch.shown(),
    )  # fmt: skip


def _told(launch: LaunchFacts, title: Message, fix: Message) -> Diagnostic:
    stops = message("{launcher} stops when it reads its options.", launcher=launch.launcher)
    return finding(
        CODE, title, None, (stops,), fix, severity="error", confidence="certain", subject=launch.shown(),
    )  # fmt: skip


def _as_said(launch: LaunchFacts, name: str) -> str:
    """The option as the command spells it."""
    for word in launch.command:
        said = word.partition("=")[0]
        if said.startswith("-") and said.lstrip("-").replace("-", "_") == name:
            return said
    return f"--{name}"
