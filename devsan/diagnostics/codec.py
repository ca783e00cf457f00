"""Diagnostics as a run file keeps them and back (docs/reference/run.schema.json), and any frozen dataclass likewise."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from devsan.diagnostics.diagnostic import Diagnostic, Fix, Place

Plain = dict[str, Any]
Record = TypeVar("Record")


def to_plain(value: Any) -> Any:
    """Returns dataclasses, tuples and dictionaries as what JSON has: objects, arrays, text keys."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    return value


def from_plain(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """Returns the dataclass ``kind`` that ``to_plain`` made ``data`` of. What ``kind`` does not have is passed over.

    Raises:
        ValueError: a field without a default is missing, or one holds what its annotation does not allow.
    """
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type,unused-ignore]
    found = {name: _read(hint, data[name]) for name, hint in hints.items() if name in data}
    try:
        return kind(**found)
    except TypeError as error:
        raise ValueError(f"expected the fields of {kind.__name__}, got {sorted(data)}") from error


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    if not dataclasses.is_dataclass(kind):
        raise ValueError(f"expected a dataclass, got {kind!r}")
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _read(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _read(next(each for each in arguments if each is not type(None)), value)
    if origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"expected one of {', '.join(arguments)}, got {value!r}")
        return value
    if origin is tuple:
        many = len(arguments) == 2 and arguments[1] is Ellipsis
        items = _expect(list, value)
        kinds = [arguments[0]] * len(items) if many else list(arguments)
        if len(kinds) != len(items):
            raise ValueError(f"expected {len(kinds)} values, got {len(items)}")
        return tuple(_read(kind, each) for kind, each in zip(kinds, items, strict=True))
    if origin is dict:
        return {_read_key(arguments[0], key): _read(arguments[1], each) for key, each in _expect(dict, value).items()}
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, _expect(dict, value))  # type: ignore[arg-type,unused-ignore]
    return _expect(hint, value)


def _read_key(hint: Any, key: str) -> Any:
    return int(key) if hint is int else key


def _expect(kind: Any, value: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"expected {kind.__name__}, got {value!r}")
    return value


def plain_of(diagnostic: Diagnostic) -> Plain:
    """Returns a diagnostic as a run file keeps it; ``diagnostic_of`` is the inverse."""
    return {
        "code": diagnostic.code, "headline": diagnostic.title, "severity": diagnostic.severity,
        "confidence": diagnostic.confidence, "sentence": diagnostic.sentence, "source": diagnostic.source,
        "sites": [plain_place(place) for place in diagnostic.sites],
        "see_also": [plain_place(place) for place in diagnostic.see_also],
        "subject": diagnostic.subject, "rank": diagnostic.rank, "rows": to_plain(diagnostic.operands),
        "placed": to_plain(diagnostic.placed), "evidence": list(diagnostic.evidence),
        "candidates": [{"code": code, "name": name} for code, name in diagnostic.candidates],
        "fixes": [plain_fix(fix) for fix in diagnostic.fixes], "naive_fix": diagnostic.naive_fix,
        "notes": list(diagnostic.notes),
    }  # fmt: skip


def diagnostic_of(finding: Mapping[str, Any]) -> Diagnostic:
    """Returns the diagnostic that a run file keeps.

    Raises:
        ValueError: a field is missing, or is not what it should be.
    """
    try:
        places = {name: [_place_fields(each) for each in finding[name]] for name in ("sites", "see_also")}
        fixes = [{**fix, "edits": [_edit_fields(each) for each in fix["edits"]]} for fix in finding["fixes"]]
        candidates = [[each["code"], each["name"]] for each in finding["candidates"]]
        fields = {**finding, **places, "title": finding["headline"], "operands": finding["rows"], "fixes": fixes,
                  "candidates": candidates}  # fmt: skip
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected a finding, got one without {error}") from error
    return from_plain(Diagnostic, fields)


def plain_place(place: Place) -> Plain:
    """Returns a place; the columns of its labels count from 1 here, as those of the place do."""
    return {
        "file": place.file, "path": place.path or place.file, "line": place.line, "column": place.column,
        "end_line": place.end_line, "end_column": place.end_column,
        "note": place.note, "lines": [{"line": number, "text": text} for number, text in place.lines.items()],
        "labels": [
            {"line": label.line, "column": label.start + 1, "end_column": label.end + 1, "texts": list(label.texts),
             "offending": label.offending}
            for label in place.labels
        ],
    }  # fmt: skip


def plain_fix(fix: Fix) -> Plain:
    """Returns a fix, with the place of each of its edits."""
    return {
        "kind": fix.kind, "text": fix.text, "confidence": fix.confidence,
        "edits": [
            {"file": edit.place.file, "path": edit.place.path or edit.place.file, "line": edit.place.line,
             "column": edit.place.column, "end_line": edit.place.end_line, "end_column": edit.place.end_column,
             "before": edit.before, "after": edit.after, "safe": edit.safe}
            for edit in fix.edits
        ],
    }  # fmt: skip


def _place_fields(plain: Mapping[str, Any]) -> Plain:
    labels = [
        {**label, "start": label["column"] - 1, "end": label["end_column"] - 1} for label in plain["labels"]
    ]  # fmt: skip
    return {**plain, "labels": labels, "lines": {str(line["line"]): line["text"] for line in plain["lines"]}}


def _edit_fields(plain: Mapping[str, Any]) -> Plain:
    return {**plain, "place": {name: plain[name] for name in _SPAN}}


_SPAN = ("file", "path", "line", "column", "end_line", "end_column")
