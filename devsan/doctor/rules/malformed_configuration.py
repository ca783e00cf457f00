"""DV401: a configuration that its reader does not read."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Confidence, Diagnostic, Edit, Place, Severity
from devsan.diagnostics.messages import message
from devsan.doctor.case import FEW, Case
from devsan.doctor.config_fixes import written
from devsan.doctor.document import Document, known_keys
from devsan.doctor.findings import finding
from devsan.doctor.nodes import LAST_COMMA, Malformed, Quirk
from devsan.spelling import nearest, nearest_script

CODE = own_code(__name__)

_STOPS = {"deepspeed": message("DeepSpeed stops when it reads this file."),
          "accelerate": message("accelerate stops when it reads this file."),
          "fsdp": message("The Trainer stops when it reads this file."),
          "unknown": message("The program that reads this file stops.")}  # fmt: skip
_START_HERE = ("torchrun", "accelerate", "deepspeed", "python")
_FIND = message("give the path of an existing file, relative to the folder in which the job starts")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields files that cannot be read, keys that are given twice, and what only some readers take."""
    yield from _no_script(case)
    for error in case.broken:
        yield finding(
            CODE, message("expected {expected}, got {got}", expected=error.expected, got=error.got), error.place,
            (message("Python stops when it reads this file."),), message("correct the syntax there"),
            severity="error", confidence="certain",
        )  # fmt: skip
    for document in case.documents:
        if document.error is not None:
            yield finding(
                CODE, _title(document.error), document.error.place, (_STOPS[document.kind],), _fix(document),
                severity="error", confidence="certain",
            )  # fmt: skip
            continue
        if document.kind == "unknown" and len(case.documents) <= FEW:
            yield _unrecognized(document)
        yield from _no_file(case, document)
        yield from _twice(document)
        if document.kind != "unknown" or len(case.documents) <= FEW:
            yield from _quirks(document, case.filled_by())


def _no_script(case: Case) -> Iterator[Diagnostic]:
    """Of files on another machine nothing is known, nor of a launcher that looks for its script in another folder."""
    launch = case.launch
    if launch.lacks_program:
        yield finding(
            CODE, message("the launch command has no script"), None,
            (message("{launcher} stops as it starts.", launcher=launch.launcher),),
            message("add the script and its arguments to the command"), severity="error", confidence="certain",
            subject=launch.shown(),
        )  # fmt: skip
    if case.facts.installed is None or launch.launcher not in _START_HERE or not launch.script.endswith(".py"):
        return
    if launch.changes_folder or "no_python" in launch.options or os.path.exists(launch.script):
        return
    near = nearest_script(launch.script)
    yield finding(
        CODE, message("there is no script {script}", script=launch.script), None,
        (message("Python stops as it starts: can't open file."),),
        message("write {correction}", correction=near) if near else _FIND, severity="error", confidence="certain",
        subject=launch.shown(),
    )  # fmt: skip


def _no_file(case: Case, document: Document) -> Iterator[Diagnostic]:
    """accelerate looks in the folder of the job (HfDeepSpeedConfig), and takes the settings themselves as well."""
    named, kind = document.at("deepspeed_config.deepspeed_config_file"), document.at("distributed_type")
    file = named.node.value if named is not None else None
    is_used = kind is not None and str(kind.node.value).upper() == "DEEPSPEED"
    if named is None or not isinstance(file, str) or not is_used or case.facts.installed is None:
        return  # of another machine nothing is known
    if os.path.exists(file) or _is_json(file) or "deepspeed_config_file" in case.launch.options:
        return
    elsewhere = case.launch.changes_folder or case.launch.launcher not in _START_HERE
    if elsewhere and any(os.path.exists(folder / file) for folder in Path(document.file).absolute().parents):
        return  # the job may start there
    beside = os.path.join(os.path.dirname(document.file), file)
    near = beside if os.path.exists(beside) else None
    yield finding(
        CODE, message("there is no DeepSpeed file {file}", file=file), named.node.place,
        (message("accelerate stops: Expected a string path to an existing deepspeed config."),
         message("A relative path starts at the folder in which the job starts, not at this file.")),
        message("write {correction}", correction=near) if near
        else _FIND,
        severity="error", confidence="certain", edits=written(document, named.node, near) if near else (),
    )  # fmt: skip


def _is_json(text: str) -> bool:
    """Whether it is JSON, as it is or in base64."""
    for read in (str, lambda text: base64.urlsafe_b64decode(text).decode()):
        try:
            json.loads(read(text))
            return True
        except ValueError:
            continue
    return False


def _unrecognized(document: Document) -> Diagnostic:
    keys = document.root.members if document.root is not None else {}
    meant = [(member.place, near) for key, member in keys.items()
             if (near := nearest(key, sorted(known_keys()), alike=0.9))]  # fmt: skip
    return finding(
        CODE, message("no key of DeepSpeed, accelerate or FSDP stands in this file, so it was not checked"),
        meant[0][0] if meant else Place(document.file), (),
        message("write {correction}", correction=meant[0][1]) if meant
        else message("name the file with the launch command or in the script that reads it"),
        severity="note", confidence="likely" if meant else "possible",
    )  # fmt: skip


def _title(error: Malformed) -> str:
    if error.got == "no such file":
        return message("there is no such file")
    if error.expected == "YAML":  # the parser has a sentence of its own
        return message("not valid YAML: {reason}", reason=error.got)
    return message("expected {expected}, got {got}", expected=error.expected, got=error.got)


def _fix(document: Document) -> str:
    error = document.error
    assert error is not None
    if error.got == "no such file":
        return _FIND
    if error.fix:
        return error.fix
    if error.place.line:
        return (
            message("correct the syntax there")
            if document.yaml
            else message("write {expected} there", expected=error.expected)
        )
    return message("save the file as UTF-8 text")


def _twice(document: Document) -> Iterator[Diagnostic]:
    if document.root is None:
        return
    for key, place in document.root.all_twice():
        refused = document.kind == "deepspeed"
        yield finding(
            CODE, message('duplicate key "{key}"', key=key), place,
            (message("DeepSpeed rejects a file with duplicate keys.") if refused
             else message("The last one is used, without a warning."),),
            message("keep one of the two"), severity="error" if refused else "warning", confidence="certain",
        )  # fmt: skip


def _quirks(document: Document, filled_by: str) -> Iterator[Diagnostic]:
    strict = filled_by in ("Trainer", "accelerate", "Lightning") or document.kind != "deepspeed" or _has_auto(document)
    # Commas go by an edit, whatever else is told.
    commas = [quirk for quirk in document.quirks if quirk.what == LAST_COMMA]
    others = [quirk for quirk in document.quirks if quirk.what != LAST_COMMA]
    for quirks in (others, commas):
        if quirks:
            if document.kind == "unknown":  # json, with which most programs read theirs, would not
                yield _quirk(quirks, "warning", "likely")
            elif strict:
                yield _quirk(quirks, "error", "certain")
            else:
                yield _quirk(quirks, "note", "possible")


def _quirk(quirks: Sequence[Quirk], severity: Severity, confidence: Confidence) -> Diagnostic:
    is_comma = quirks[0].what == LAST_COMMA
    return finding(
        CODE, message("{quirk}: not every JSON parser accepts this", quirk=quirks[0].what), quirks[0].place,
        (message("DeepSpeed reads its file with hjson, which accepts this; transformers, accelerate and Lightning "
                 "read it with json, which does not."),),
        message("remove it") if is_comma
        else message("write plain JSON: no comments, keys in double quotes, commas only between entries"),
        severity=severity, confidence=confidence,
        sites=tuple(quirk.place for quirk in quirks[1:10]),
        edits=tuple(Edit(quirk.place, ",", "") for quirk in quirks) if is_comma else (),
    )  # fmt: skip


def _has_auto(document: Document) -> bool:
    """Only transformers and accelerate know "auto" at the top of the file."""
    members = document.root.members if document.root is not None else {}
    return any(member.node.value == "auto" for member in members.values())
