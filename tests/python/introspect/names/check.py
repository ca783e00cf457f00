"""What a report says of the operands of a program, held against what is true of them."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from edits import applied
from names.program import Kind, Program, Truth

from devsan.diagnosis.build import build
from devsan.diagnosis.cause import explained
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.introspect.explain import Explanation
from devsan.introspect.frames.chain import Failure, failure_of

_KIND = re.compile(r"(\w+(?::\d+)?)  (\w+)\[([\d,]*)\]")
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass
class CheckResult:
    """What is wrong with one report.

    Attributes:
        wrong: each a sentence about a name that is not true.
        unnamed: operands that the source names and the report does not.
        named: operands that the source names.
        led_back: edits after which the program fails in the same way.
        edits: edits that were tried, and how many of them ran to the end.
        skipped: why there is no report: the program does not fail where it should.
    """

    wrong: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    named: int = 0
    led_back: list[str] = field(default_factory=list)
    edits: int = 0
    fixed: int = 0
    skipped: str = ""


@dataclass
class Told:
    """How a program failed, and what was told of it."""

    failure: Failure
    report: Diagnostic
    explanation: Explanation
    line: int


def failure_in(text: str, file: Path, **known: Any) -> tuple[Failure, int] | None:
    """Runs ``text`` as ``file`` and returns its failure and its line; None where it runs to the end."""
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    try:
        exec(compile(text, str(file), "exec"), {"__name__": "__main__", "__file__": str(file), **known})
    except Exception as error:
        failure = failure_of(error, error.__traceback__)
        if failure is None:
            raise
        trace, line = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(file):
                line = trace.tb_lineno
            trace = trace.tb_next
        return failure, line
    return None


def run(text: str, file: Path) -> Told | None:
    """Runs ``text`` as ``file`` and returns what is told of its failure; None where it runs to the end."""
    found = failure_in(text, file)
    if found is None:
        return None
    failure, line = found
    report, explanation = explained(build(failure), failure)
    assert explanation is not None, "expected a diagnosis, got none"
    return Told(failure, report, explanation, line)


def check(program: Program, folder: Path, number: int) -> CheckResult:
    """Returns what is wrong with the report on ``program``."""
    result = CheckResult()
    seen: dict[int, Kind] = {}

    def see(place: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            seen[place] = kind_of(value)
        return value

    try:
        probed = failure_in(program.probed, folder / f"probed_{number}.py", _see=see)
        told = run(program.text, folder / f"program_{number}.py")
    except (RuntimeError, IndexError, TypeError, ValueError) as error:  # torch refuses it for another reason
        return CheckResult(skipped=f"{type(error).__name__}: {error}")
    if told is None or probed is None:
        return CheckResult(skipped="it does not fail")
    for place, kind in seen.items():
        assert kind == program.truths[place].kind, f"the program is not what it should be: {program.label}"
    if told.failure.refusal is None:
        return CheckResult(skipped="the core did not refuse it")
    result.wrong += [*_wrong_operands(program, told), *_wrong_labels(program, told), *_wrong_words(program, told)]
    for truth in program.truths:
        if truth.named:
            result.named += 1
            if not any(_says(truth, name) for name in _all_names(told)):
                result.unnamed.append(f"{sorted(truth.names)} {truth.kind}")
    _try_edits(program, told, folder, number, result)
    return result


def kind_of(tensor: torch.Tensor) -> Kind:
    """Returns what ``tensor`` is made of."""
    return Kind(str(tensor.device), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def _says(truth: Truth, name: str) -> bool:
    return truth.is_called(name)


def _all_names(told: Told) -> Iterator[str]:
    for operand in told.explanation.facts.failure.operands:
        yield from filter(None, (operand.name, operand.qualified_name))
    for site in told.report.sites:
        for label in site.labels:
            if label.texts:
                yield " ".join(site.lines[label.line][label.start : label.end].split())
    for row in told.report.operands:
        yield from filter(None, (row.name, row.qualified_name))


def _wrong_operands(program: Program, told: Told) -> Iterator[str]:
    inner = _inner(told)
    for operand in told.explanation.facts.failure.operands:
        kind = Kind(str(operand.device), operand.dtype, tuple(operand.shape or ()))
        for name in filter(None, (operand.name, operand.qualified_name)):
            yield from _unless_true(program, "operand", name, kind, inner)
    for placed in told.report.placed:
        kind = _kind_of_placement(placed.placement)
        for name in filter(None, (placed.name, placed.qualified_name)):
            yield from _unless_true(program, "placed", name, kind, inner)
    for row in told.report.operands:
        if row.placement is not None:
            for name in filter(None, (row.name, row.qualified_name)):
                yield from _unless_true(program, "row", name, _kind_of_placement(row.placement), inner)


def _inner(told: Told) -> set[Kind]:
    """The operands as the core refused them: some of torch's functions reshape what they are given."""
    return {Kind(str(each.device), _dtype(each.dtype), tuple(each.shape)) for each in told.failure.refusal.operands}


def _unless_true(program: Program, what: str, name: str, kind: Kind, inner: set[Kind]) -> Iterator[str]:
    if _is_of_torch(name):
        return
    if any(truth.is_called(name, kind) for truth in program.truths):
        return
    called = [truth for truth in program.truths if truth.is_called(name)]
    if called and kind in inner and any(truth.kind.device == kind.device for truth in called):
        return  # the shape that a part of the operator sees
    yield f"{what} `{name}` is said to be {kind.device} {kind.dtype}{list(kind.shape)}" + (
        "" if called else ", and is no operand"
    )


def _is_of_torch(name: str) -> bool:
    """A word of torch's schema, a variable of torch's own, or the output of a module: none is of the program."""
    return (
        bool(re.fullmatch(r"[a-z_]+\d*(\[\d+\])?", name) and name in _ROLES)
        or name.startswith("the output of")
        or (" in torch/" in name)
    )


_ROLES = frozenset({
    "self", "other", "mat1", "mat2", "input", "weight", "bias", "target", "index", "mask", "tensors", "src", "vec",
    "batch1", "batch2", "tensor1", "tensor2", "end", "condition", "indices", "tensor", "out", "source", "x1", "x2",
    "query", "key", "value", "values", "vec2", "exponent", "running_mean", "running_var", "pos_weight", "result",
    *(f"tensors[{number}]" for number in range(4)), *(f"indices[{number}]" for number in range(4)),
})  # fmt: skip


def _wrong_labels(program: Program, told: Told) -> Iterator[str]:
    inner = _inner(told)
    for site in told.report.sites:
        for label in site.labels:
            written = " ".join(site.lines[label.line][label.start : label.end].split())
            for text in label.texts:
                found = _KIND.search(text)
                before = text[: found.start()].strip() if found is not None else ""
                name = before or written
                if found is None:
                    if not any(truth.is_called(name) for truth in program.truths):
                        yield f"label `{name}` {text!r} is at no operand"
                    continue
                shape = tuple(int(size) for size in found[3].split(",") if size)
                kind = Kind(found[1], found[2], shape)
                if any(_unless_true(program, "label", name, kind, inner)):
                    yield f"label `{name}` says {text!r}"


def _wrong_words(program: Program, told: Told) -> Iterator[str]:
    """Sentences of the finding that speak of a tensor that never reached the operator."""
    for finding in told.explanation.findings[:1]:
        texts = [finding.title, *finding.evidence, *(fix.text for fix in finding.fixes)]
        for text in texts:
            for name in _QUOTED.findall(text):
                if name in program.decoys and name not in _ROLES:
                    yield f"{text!r} speaks of `{name}`"


def _kind_of_placement(placement: Any) -> Kind:
    return Kind(placement.device, placement.dtype or "", tuple(placement.shape or ()))


def _dtype(name: str) -> str:
    from devsan.introspect.frames.tensors import dtype_name

    return dtype_name(str(name))


def _try_edits(program: Program, told: Told, folder: Path, number: int, result: CheckResult) -> None:
    finding = told.explanation.findings[0]
    for place, fix in enumerate(finding.fixes):
        edit = fix.edit
        if edit is None or Path(edit.file).name != f"program_{number}.py":
            continue
        result.edits += 1
        text = applied(program.text, edit)
        try:
            again = failure_in(text, folder / f"edited_{number}_{place}.py")
        except Exception as error:  # the edited program fails for another reason than devices
            result.led_back.append(f"{edit.after!r} ends in {type(error).__name__}: {error}")
            continue
        if again is None:
            result.fixed += 1
        elif _failure(*again) == _failure(told.failure, told.line):
            result.led_back.append(f"{edit.before!r} -> {edit.after!r} fails in the same way")


def _failure(failure: Failure, line: int) -> object:
    refusal = failure.refusal
    operands = [(each.name, each.device) for each in refusal.operands] if refusal is not None else failure.message
    return refusal.op if refusal is not None else "", line, operands
