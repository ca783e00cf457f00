"""DV410: keys and values that DeepSpeed refuses, ignores or has renamed; deepspeed.json has what it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, renamed, written
from devsan.doctor.document import Document
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member, Node
from devsan.doctor.settings import Settings, real, truth, whole
from devsan.spelling import nearest

CODE = own_code(__name__)

_BOUNDS = {"gt": message("above"), "ge": message("at least"), "lt": message("below"), "le": message("at most")}
_NAMES = {
    "int": message("an integer"),
    "float": message("a number"),
    "bool": message("true or false"),
    "text": message("a string"),
    "object": message("an object"),
}
_NEEDED_AT_ONCE = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_LARGEST = 1e15  # a whole number that a float still tells from the next one
_CLOSE = 0.8  # how alike two names must be for one to be a slip of the other


@cache
def schema() -> dict[str, Any]:
    """Returns what DeepSpeed takes."""
    read: dict[str, Any] = json.loads(Path(__file__).parents[2].joinpath("deepspeed.json").read_text(encoding="utf-8"))
    return read


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields what DeepSpeed's own checks of names and values refuse, without DeepSpeed."""
    for settings in case.deepspeed():
        if settings.by_accelerate or settings.document.root is None:
            continue
        known = schema()
        installed = case.facts.version("deepspeed")
        yield from _removed(settings.document, known, installed)
        yield from _top(settings.document, known, installed, case.filled_by() == "Trainer")
        yield from _auto(settings, case.filled_by())


def _removed(document: Document, known: dict[str, Any], installed: str) -> Iterator[Diagnostic]:
    root = document.root
    assert root is not None
    zero = root.members.get("zero_optimization")
    found = [(name, root.members[name]) for name in known["removed"] if name in root.members]
    if zero is not None:
        found += [(f"zero_optimization.{name}", zero.node.members[name]) for name in known["removed_zero"]
                  if name in zero.node.members]  # fmt: skip
    for name, member in found:
        refused, later = _not_older(installed, known["version"]), bool(installed)
        yield finding(
            CODE, message("{setting} was removed from DeepSpeed", setting=name), member.place,
            (message("DeepSpeed {version} rejects the whole file because of it.", version=known["version"]),),
            message("remove it"), severity="error" if refused else "note" if later else "warning",
            confidence="certain" if refused else "possible" if later else "likely",
            edits=removed(document, member, refused),
        )  # fmt: skip


def _top(document: Document, known: dict[str, Any], installed: str, is_compared: bool) -> Iterator[Diagnostic]:
    """``is_compared``: the Trainer tells of a number in quotes, which is none of its own (DV416)."""
    root = document.root
    assert root is not None
    for name, member in root.members.items():
        if name in known["removed"]:
            continue
        taken = known["top"].get(name)
        if taken is None:
            near = nearest(name, known["top"], _CLOSE)
            if near:
                yield finding(
                    CODE, message("{setting} is not a DeepSpeed setting", setting=name), member.place,
                    (message("DeepSpeed ignores unknown top-level keys."),),
                    message("write {correction}", correction=near), severity="warning", confidence="likely",
                    edits=() if near in root.members else renamed(document, member.place, near),
                )  # fmt: skip
            continue
        if name == "zero_optimization" and isinstance(member.node.value, bool):
            yield finding(
                CODE, message("zero_optimization must be an object since DeepSpeed 0.3"), member.place,
                (message("true means stage 1, and no other setting can be given."),),
                message("write {correction}", correction='{"stage": 1}'), severity="warning", confidence="certain",
            )  # fmt: skip
            continue
        yield from _value(document, name, member, taken, known, installed, strict=taken["type"] == "object",
                          is_raw=not is_compared)  # fmt: skip


def _value(
    document: Document, path: str, member: Member, taken: dict[str, Any], known: dict[str, Any], installed: str,
    strict: bool = True, is_raw: bool = False,
) -> Iterator[Diagnostic]:  # fmt: skip
    node = member.node
    if node.value == "auto" and (strict or path in _NEEDED_AT_ONCE or path in ("gradient_clipping", "fp16", "bf16")):
        return
    if taken["type"] == "object":
        if node.kind == "object":
            yield from _object(document, path, node, known["models"][taken["model"]], known, installed)
            return
        if node.value is None and node.kind == "scalar" and (taken.get("null") or path in ("bf16", "fp16")):
            return
        yield _wrong(path, member, _NAMES["object"])
        return
    expected = _expected(node, taken)
    if not expected and is_raw and isinstance(node.value, str) and taken["type"] in ("int", "float"):
        expected = _NAMES[taken["type"]]  # DeepSpeed reads what belongs to no section as it is, and computes with it
    if expected:
        yield _wrong(path, member, expected, _as_number(document, node, taken))


def _expected(node: Node, taken: dict[str, Any]) -> Message | None:
    """Returns what a value should have been; None where it is fine. As pydantic does outside of its strict mode."""
    kind = taken["type"]
    if kind == "any" or (node.kind == "scalar" and node.value is None and taken.get("null")):
        return None
    if kind == "choice":
        fits = node.kind == "scalar" and (node.value in taken["of"] or whole(node.value) in taken["of"])
        fits = fits and not (isinstance(node.value, float) and not node.value.is_integer())
        return None if fits else message("one of {choices}", choices=", ".join(map(str, taken["of"])))
    if node.kind != "scalar" or node.value is None:
        return _NAMES[kind]
    if kind == "bool":
        return None if truth(node.value) is not None else _NAMES[kind]
    if kind == "text":
        return None if isinstance(node.value, str) else _NAMES[kind]
    number = whole(node.value) if kind == "int" else real(node.value)
    if number is None:
        return _NAMES[kind]
    for bound, word in _BOUNDS.items():
        if bound in taken and not _within(number, bound, taken[bound]):
            limit = f"{taken[bound]:g}"
            return (message("an integer {bound} {limit}", bound=word, limit=limit) if kind == "int"
                    else message("a number {bound} {limit}", bound=word, limit=limit))  # fmt: skip
    return None


def _within(number: float, bound: str, limit: float) -> bool:
    return {"gt": number > limit, "ge": number >= limit, "lt": number < limit, "le": number <= limit}[bound]


def _as_number(document: Document, node: Node, taken: dict[str, Any]) -> tuple[Edit, ...]:
    """A number in quotes, or one with an exponent, where a number of the right kind stands for it."""
    try:
        number = float(str(node.value))
    except ValueError:
        return ()
    if taken["type"] not in ("int", "float") or not abs(number) <= _LARGEST or _expected_of(number, taken):
        return ()
    if taken["type"] == "float":
        return written(document, node, number) if isinstance(node.value, str) else ()
    return written(document, node, int(number)) if number.is_integer() else ()


def _expected_of(number: float, taken: dict[str, Any]) -> bool:
    return not all(_within(number, bound, taken[bound]) for bound in _BOUNDS if bound in taken)


def _object(
    document: Document, path: str, node: Node, model: dict[str, Any], known: dict[str, Any], installed: str
) -> Iterator[Diagnostic]:  # fmt: skip
    fields = model["fields"]
    aliases = {taken["alias"]: name for name, taken in fields.items() if "alias" in taken}
    for name, member in node.members.items():
        if f"{path}.{name}".startswith("zero_optimization.") and name in known["removed_zero"]:
            continue
        taken = fields.get(aliases.get(name, name))
        if taken is None:
            if member.node.value != "auto" and not model["open"]:  # DeepSpeed drops every "auto" before it looks
                yield _unknown(document, path, name, member, [*fields, *aliases], known, installed, node)
            continue
        yield from _value(document, f"{path}.{name}", member, taken, known, installed)
        if "deprecated" in taken:
            yield from _deprecated(document, path, name, node, _documented(taken["deprecated"], fields))


def _documented(new: str, fields: dict[str, Any]) -> str:
    """The name by which DeepSpeed's documentation calls a field: its alias, where it has one."""
    return str(fields.get(new, {}).get("alias", new))


def _unknown(
    document: Document, path: str, name: str, member: Member, names: list[str], known: dict[str, Any], installed: str,
    around: Node,
) -> Diagnostic:  # fmt: skip
    near = nearest(name, names, _CLOSE)
    moved = name in known["top"]
    same = installed in ("", known["version"])
    evidence = [
        message(
            "{section} may contain only keys that DeepSpeed {version} knows: it rejects a file with an unknown key.",
            section=path, version=known["version"],
        )
    ]  # fmt: skip
    if not same:
        evidence.append(message("DeepSpeed {version} is installed, which may support others.", version=installed))
    return finding(
        CODE, message("{setting} is not a setting of {section}", setting=name, section=path), member.place,
        tuple(evidence),
        message("write {correction}", correction=near) if near
        else message("move it to the top of the file") if moved else message("remove it"),
        severity="error" if same or near else "warning", confidence="certain" if same else "likely",
        edits=() if near in around.members
              else renamed(document, member.place, near) if near else () if moved else removed(document, member, same),
    )  # fmt: skip


def _deprecated(document: Document, path: str, name: str, node: Node, new: str) -> Iterator[Diagnostic]:
    member = node.members[name]
    both = bool(new) and " " not in new and (new in node.members or new.removeprefix("stage3_") in node.members)
    yield finding(
        CODE, message("{section}.{setting} is deprecated", section=path, setting=name), member.place,
        (message("DeepSpeed rejects {setting} together with {replacement}, which replaced it.", setting=name,
                 replacement=new) if both
         else message("DeepSpeed still reads {setting} and logs that it is deprecated.", setting=name),),
        message("remove {setting}", setting=name) if both
        else message("write {correction} instead", correction=new) if new else message("remove it"),
        severity="error" if both else "note", confidence="certain",
        edits=removed(document, member) if both else _in_new_words(document, name, member, new),
    )  # fmt: skip


def _in_new_words(document: Document, name: str, member: Member, new: str) -> tuple[Edit, ...]:
    """A key that has another name now; a switch that has become a section (runtime/zero/config.py)."""
    if not new or " " in new:
        return ()
    if not name.startswith("cpu_offload"):
        return renamed(document, member.place, new)
    if truth(member.node.value) is not True:
        return removed(document, member)
    switch = written(document, member.node, {"device": "cpu"})
    return (*renamed(document, member.place, new), *switch) if switch else ()


def _auto(settings: Settings, filled_by: str) -> Iterator[Diagnostic]:
    if filled_by != "nobody":
        return
    sections = [f"{name}.params" for name in ("optimizer", "scheduler")]
    parameters = [f"{section}.{name}" for section in sections if (params := settings.get(section)) is not None
                  for name in params.node.members]  # fmt: skip
    for name in (*_NEEDED_AT_ONCE, "gradient_clipping", *parameters):
        setting = settings.get(name)
        if setting is not None and setting.auto:
            yield finding(
                CODE, message('{setting} is "auto", but nothing replaces it', setting=name), setting.place,
                (message('The Trainer and accelerate replace "auto" with their own values; deepspeed.initialize does '
                         "not."),),
                message("write the number"), severity="error", confidence="likely",
            )  # fmt: skip


def _wrong(path: str, member: Member, expected: Message, edits: tuple[Edit, ...] = ()) -> Diagnostic:
    return finding(
        CODE,
        message("{setting} is {value}, expected {expected}", setting=path, value=member.node.written(),
                expected=expected),
        member.node.place,
        (message("DeepSpeed rejects the value when it reads the file, or fails when it first computes with it."),),
        message("write {correction}", correction=expected), severity="error", confidence="certain", edits=edits,
    )  # fmt: skip


def _not_older(installed: str, version: str) -> bool:
    if not installed:
        return False
    from packaging.version import InvalidVersion, Version

    try:
        return Version(installed) >= Version(version)
    except InvalidVersion:
        return False
