"""What the doctor calls certain is so: drawn programs are run on emulated GPUs, and each such finding is looked at.

The operation that a finding names has to fail, with its operands where the finding says that they are; a module that
is said to be on a device has to be there whole. What an earlier failure hides is open: it neither holds nor does not,
and may not be much. DEVSAN_CERTAIN=400 draws so many; the default is a part.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import traceback
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest

import devsan
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.source.files import check_source
from devsan.doctor.source.source_file import SourceFile
from tests.doctor.source.certain_programs import HEAD, program

DRAWN = int(os.environ.get("DEVSAN_CERTAIN", "60"))
GPUS = 2
FIRST = HEAD.count("\n")  # lines of classes stand before
OPEN = "an earlier failure hides it"

pytest.importorskip("accelerate", reason="the drawn programs use dispatch_model")

# Modules that have several devices, where it is easily said that they have one.
SPREAD = {
    "sequential": "m = nn.Sequential(nn.Linear(4, 4).cuda(0), nn.Linear(4, 4).cuda(1))\n"
                  "y = m(torch.ones(2, 4).cuda(1))",
    "weight of it": "m = nn.Sequential(nn.Linear(4, 4).cuda(0), nn.Linear(4, 4).cuda(1))\n"
                    "x = torch.ones(4, 4)\ny = x @ m[1].weight",
    "part": 'm = Net().cuda()\nm.layer2.to("cuda:1")\ny = m(torch.ones(2, 4).cuda())',
    "part, from the CPU": 'm = Net().cuda()\nm.layer2.to("cuda:1")\ny = m(torch.ones(2, 4))',
    "by a map": 'm = dispatch_model(Net(), {"layer1": 0, "layer2": 1, "mean": 1})\n'
                'y = m(torch.ones(2, 4)) + torch.ones(4, device="cuda:1")',
    "wrapped": "m = nn.Sequential(nn.Linear(4, 4).cuda(0), nn.Linear(4, 4).cuda(1))\np = nn.DataParallel(m)",
    "wrapped elsewhere": 'm = Net().cuda()\nm.layer1.to("cuda:1")\np = nn.DataParallel(m)',
    "first parameter": "m = nn.Sequential(nn.Linear(4, 4).cuda(0), nn.Linear(4, 4).cuda(1))\n"
                       'y = next(m.parameters()).sum(0) + torch.ones(4, device="cuda:1")',
    "each parameter": "m = nn.Sequential(nn.Linear(4, 4).cuda(0), nn.Linear(4, 4).cuda(1))\n"
                      'for p in m.parameters():\n    y = p.sum(0) + torch.ones(4, device="cuda:1")',
    "buffer": 'm = Net()\nm.layer1.cuda(1)\nm.layer2.cuda(1)\ny = m(torch.ones(2, 4).cuda(1))',
}  # fmt: skip


@dataclass
class Failures:
    """What failed: by the lines that were active, with the places of expressions at that time, and the error.

    Attributes:
        found: of each failure.
        skipped: lines that need what failed before.
        reached: lines that ran.
        after: places of expressions behind each line.
    """

    found: list[tuple[set[int], dict[str, set[str]], Exception]] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)
    after: dict[int, dict[str, set[str]]] = field(default_factory=dict)

    def at(self, line: int) -> list[tuple[dict[str, set[str]], Exception]]:
        return [(real, error) for lines, real, error in self.found if line in lines]


def run(text: str, asked: set[str]) -> Failures:
    """Runs a program statement by statement; where one fails the next goes on. ``asked`` are expressions."""
    failures, names = Failures(), {"__name__": "__main__", "input_of_the_program": 0}
    for statement in ast.parse(text).body:
        code = compile(ast.Module([statement], []), "drawn.py", "exec")
        sys.settrace(lambda frame, event, given: _traced(failures.reached, frame, event))
        try:
            exec(code, names)
        except NameError:
            failures.skipped.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
        except Exception as error:
            frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
                      if frame.f_code.co_filename == "drawn.py"]  # fmt: skip
            inner = frames[-1][0]
            sys.settrace(None)
            real = {each: places(each, {**inner.f_globals, **inner.f_locals}) for each in asked}
            failures.found.append(({line for _, line in frames}, real, error))
        finally:
            sys.settrace(None)
        if asked:
            failures.after[statement.lineno] = {each: places(each, names) for each in asked if each.isidentifier()}
    return failures


def _traced(reached: set[int], frame: FrameType, event: str) -> Any:
    if frame.f_code.co_filename != "drawn.py":
        return None
    reached.add(frame.f_lineno)
    return lambda frame, event, given: _traced(reached, frame, event)


def places(expression: str, names: dict[str, Any]) -> set[str]:
    """Where what an expression gives is; nowhere where it cannot be asked."""
    import torch

    try:
        value = eval(expression, names)
    except Exception:
        return set()
    tensors = [value] if isinstance(value, torch.Tensor) else []
    if isinstance(value, torch.nn.Module):
        tensors = [*value.parameters(), *value.buffers()]
    return {str(each.device) for each in tensors}


def said_places(finding: Diagnostic) -> list[tuple[str, str]]:
    """The expressions of a title, and where each is said to be."""
    found = re.findall(r"`([^`]+)`(?:, which)? is (?:created )?on (the CPU|cuda(?::\d+)?)", finding.title)
    other = re.search(r"is used with `([^`]+)`, which is on (the CPU|cuda(?::\d+)?)", finding.title)
    wrapped = re.search(r"DataParallel\((\w+).*` wraps a model that is on (cuda:\d+)", finding.title)
    return [*found, *(each.groups() for each in (other, wrapped) if each)]  # type: ignore[misc]


def wrong_with(finding: Diagnostic, failures: Failures) -> str:
    """Why a certain finding is not true of the run; "" where it is."""
    assert finding.place is not None
    line = next((int(found[1]) for text in finding.evidence if (found := re.search(r"line (\d+), combines", text))),
                finding.place.line)  # fmt: skip
    if "is discarded" in finding.title:
        return ""
    inside = line < FIRST and failures.skipped and not failures.at(line)
    if line in failures.skipped or line not in failures.reached or inside:
        return OPEN
    # A wrapper is made silently, and fails when it is called.
    frames = [(failures.after[line], None)] if finding.code == "DV202" else failures.at(line)
    wrong = f"line {line} did not fail"
    for real, error in frames:
        wrong = "" if error is None or _is_of_devices(error) else f"it fails otherwise: {error}"
        for expression, place in said_places(finding):
            wanted = {"the CPU": "cpu", "cuda": "cuda:0"}.get(place, place)
            if not real[expression]:
                return OPEN  # an operand that fails itself
            if real[expression] != {wanted}:
                wrong = f"`{expression}` is on {sorted(real[expression])}, not on {wanted}"
        if not wrong:
            return ""
    return wrong


def _is_of_devices(error: Exception) -> bool:
    return re.search("device|cuda|numpy", str(error), re.IGNORECASE) is not None


def checked(text: str) -> tuple[int, int, list[str]]:
    """How many findings are certain, how many of them are open, and what is wrong with the others."""
    result = check_source(SourceFile("drawn.py", text), edits=False)
    assert result.notes == []
    certain = [each for each in result.findings if each.confidence == "certain"]
    with devsan.emulate(gpus=GPUS):
        asked = {expression for each in certain for expression, _ in said_places(each)}
        failures = run(text, asked) if certain else Failures()
        whys = [(each, wrong_with(each, failures)) for each in certain]
    wrong = [f"{each.code} {each.place}: {each.title}: {why}" for each, why in whys if why and why != OPEN]
    return len(certain), sum(why == OPEN for _, why in whys), wrong


@pytest.mark.parametrize("name", SPREAD)
def test_a_module_that_spans_devices_has_no_single_one(name: str) -> None:
    assert checked(HEAD + SPREAD[name] + "\n")[2] == []


@pytest.mark.long
def test_what_is_certain_of_drawn_programs_is_so() -> None:
    wrong: list[str] = []
    many = hidden = 0
    for seed in range(DRAWN):
        count, unknown, found = checked(program(seed))
        many, hidden = many + count, hidden + unknown
        wrong += [f"seed {seed}: {each}" for each in found]
    print(f"{many} certain findings of {DRAWN} programs, {hidden} open, {len(wrong)} false")
    assert wrong == [], "\n".join(wrong)
    assert many - hidden >= DRAWN / 4  # or nothing was looked at
