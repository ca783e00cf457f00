"""Who placed a tensor: one file per framework, each a table of the frames by which it is recognised.

``owner_of`` reads a stack alone: nothing of a framework is imported, and a framework that is not installed costs
nothing. The setting "device_map" in a rule stands for the entry that decided; ``devsan.probe.trails`` looks it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from devsan.owners import (
    accelerate,
    bitsandbytes,
    deepspeed,
    diffusers,
    lightning,
    peft,
    program,
    torch_loading,
    torch_parallel,
    transformers,
)
from devsan.owners.stack import MACHINERY, Rule, own_run

PROGRAM, TORCH = "program", "torch"

_FRAMEWORKS: tuple[Rule, ...] = (
    *torch_parallel.RULES, *torch_loading.RULES, *accelerate.RULES, *transformers.RULES, *diffusers.RULES,
    *deepspeed.RULES, *lightning.RULES, *peft.RULES, *bitsandbytes.RULES,
)  # fmt: skip


@dataclass(frozen=True)
class Recognised:
    """Who placed something.

    Attributes:
        name: one of core/model/owner.h's names, or a package.
        mechanism: by which means; "" when it is an operator alone.
        setting: what told it to; "device_map" for the entry that is still to be found.
        loads: whether the tensor was read or received.
    """

    name: str
    mechanism: str = ""
    setting: str = ""
    loads: bool = False


def owner_of(stack: Sequence[Any]) -> Recognised:
    """Returns who placed what was placed at ``stack`` (the core's frames, innermost first)."""
    mechanism = ""
    for frame in own_run(stack):
        for rule in _FRAMEWORKS:
            if rule.fits(frame):
                return Recognised(rule.owner or rule.package, rule.mechanism, rule.setting, rule.loads)
        for rule in program.MEANS:
            if rule.fits(frame):
                if rule.owner:
                    return Recognised(rule.owner, rule.mechanism)
                mechanism = mechanism or rule.mechanism
    caller = next((frame for frame in stack if frame.package not in MACHINERY), None)
    if caller is None:
        return Recognised(PROGRAM if not stack else TORCH, mechanism)
    return Recognised(caller.package or PROGRAM, mechanism)
