"""Who placed a tensor: one file per framework, each a table ``RULES`` of the frames by which it is
recognized. A file that lies in this package is found; nothing lists it.

``owner_of`` reads a stack alone: nothing of a framework is imported, and a framework that is not installed costs
nothing. The setting "device_map" in a rule stands for the entry that decided;
``devsan.introspect.models.device_maps`` looks it up.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass

from devsan import core
from devsan.owners import program
from devsan.owners.settings import as_written
from devsan.owners.stack import Rule, Step, last_part, own_run

PROGRAM, TORCH = "program", "torch"
_DISTRIBUTED = "torch.distributed"


def found_rules() -> dict[str, tuple[Rule, ...]]:
    """Returns the rules of each file of this package that has a table ``RULES``, by the name of the file.

    The order of the files decides nothing: no two of them are about the same file of a framework (a test holds that).
    """
    names = sorted(each.name for each in pkgutil.iter_modules(__path__))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module.RULES for name, module in modules.items() if hasattr(module, "RULES")}


_BY_PACKAGE: dict[str, list[Rule]] = {}
for _rule in (*itertools.chain.from_iterable(found_rules().values()), *program.MEANS):
    _BY_PACKAGE.setdefault(_rule.package, []).append(_rule)
_MEANS = frozenset(program.MEANS)


@dataclass(frozen=True)
class Recognized:
    """Who placed something.

    Attributes:
        name: a package, or the name that its rule gives; core/model/owner.h has those that causes know.
        mechanism: by which means; "" when it is an operator alone.
        setting: what told it to; "device_map" for the entry that is still to be found.
        loads: whether the tensor was read or received.
    """

    name: str
    mechanism: str = ""
    setting: str = ""
    loads: bool = False


def owner_of(stack: Sequence[core.Frame], device: str = "") -> Recognized:
    """Returns who placed what was placed at ``stack``.

    Args:
        stack: the core's frames, innermost first.
        device: where it was placed; some libraries are told so by another setting for the host.
    """
    mechanism = ""
    steps = [Step(frame, _rule_of(frame)) for frame in stack]
    for step in own_run(steps):
        rule = step.rule
        if rule is None:
            continue
        if rule.passes or rule in _MEANS:
            # Of torch's means the innermost says most, of what hands on the outermost.
            mechanism = rule.mechanism or mechanism if rule.passes else mechanism or rule.mechanism
            if rule.owner:
                return Recognized(rule.owner, rule.mechanism, rule.setting)
            continue
        if mechanism in program.FOLLOW:
            return Recognized(rule.owner or rule.package, mechanism)
        if call := _collective(steps) if rule.loads else "":
            return Recognized(_DISTRIBUTED, call, loads=True)
        setting = rule.on_host if rule.on_host and device == "cpu" else rule.setting
        return Recognized(
            rule.owner or rule.package, rule.mechanism or mechanism, as_written(setting, stack), rule.loads
        )
    caller = writer(steps)
    if caller is None:
        return Recognized(PROGRAM if not stack else TORCH, mechanism)
    return Recognized(caller.package or PROGRAM, mechanism)


def _collective(steps: Sequence[Step]) -> str:
    """The call of torch.distributed by which a tensor came: objects are pickled, so that torch.load reads them."""
    calls = [step.frame for step in own_run(steps) if step.rule is not None and step.rule.owner == _DISTRIBUTED]
    return last_part(calls[-1].function) if calls else ""


def writer_of(stack: Sequence[core.Frame]) -> core.Frame | None:
    """Returns the innermost frame that neither is machinery nor hands on: whose code asked for the placement."""
    return writer([Step(frame, _rule_of(frame)) for frame in stack])


def writer(steps: Sequence[Step]) -> core.Frame | None:
    """As ``writer_of``, for frames whose rules are known."""
    return next((step.frame for step in steps if step.is_caller), None)


def _rule_of(frame: core.Frame) -> Rule | None:
    found = next((rule for rule in _BY_PACKAGE.get(frame.package, ()) if rule.fits(frame)), None)
    if found is None and last_part(frame.function) == "_apply":  # a module's own, for state that torch does not know of
        return Rule(frame.package, passes=True)
    return found
