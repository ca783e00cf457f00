"""Edits of configuration files: the text of a key or value is replaced, a member is taken away or put in.

Nothing is written anew: what stands around an edit keeps its formatting and its comments. Where the place is not simply
that of a key or a value (an alias of YAML, a member that shares its line), there is no edit.
"""

from __future__ import annotations

import json
import re
from typing import Any

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.doctor.document import Document
from devsan.doctor.nodes import Member, Node

_PLAIN = re.compile(r"[A-Za-z0-9_./-]+\Z")
_INDENT = re.compile(r"[ \t]*")


def renamed(document: Document, key: Place, name: str, safe: bool = True) -> tuple[Edit, ...]:
    """Returns the edit that gives a key another name, in the quotes that it has."""
    before = _between(document, key)
    quote = before[:1] if before[:1] in ("'", '"') else ""
    return _some(key, before, f"{quote}{name}{quote}", safe)


def written(document: Document, node: Node, value: Any, safe: bool = True) -> tuple[Edit, ...]:
    """Returns the edit that puts another value, mostly a scalar, in the place of the scalar ``node``."""
    before = _between(document, node.place)
    if node.kind != "scalar" or (document.yaml and before[:1] in ("&", "*", "|", ">", "!")):
        return ()
    return _some(node.place, before, _shown(document, value, before), safe)


def removed(document: Document, member: Member, safe: bool = True) -> tuple[Edit, ...]:
    """Returns the edit that takes a member away, with its comma and its line."""
    lines = document.text.split("\n")
    first, last = member.place.line, max(member.node.place.end_line, member.node.place.line)
    end = member.node.place.end_column
    if not first or last > len(lines) or (last > first and member.node.place.end_column == 1):
        # PyYAML's mark of a block stands at the beginning of the line behind it.
        last, end = last - 1, len(lines[last - 2]) + 1
    before, behind = lines[first - 1][: member.place.column - 1], lines[last - 1][end - 1 :]
    if before.strip():
        return ()
    comma = not document.yaml and behind.lstrip().startswith(",")
    if behind.strip().lstrip(",").strip() and not behind.strip().lstrip(",").strip().startswith(("#", "//")):
        return ()
    if document.yaml or comma:
        return _lines_away(document, lines, first, last, safe)
    return _last_away(document, lines, first, last, safe)


def added(document: Document, beside: Member, name: str, value: Any, safe: bool = True) -> tuple[Edit, ...]:
    """Returns the edit that puts a member behind ``beside``, on a line of its own where that has one."""
    end = beside.node.place
    lines = document.text.split("\n")
    if beside.node.kind != "scalar" or not 0 < end.end_line <= len(lines):
        return ()
    line = lines[beside.place.line - 1]
    indent = _INDENT.match(line)
    alone = indent is not None and indent.end() == beside.place.column - 1
    space = f"\n{indent.group()}" if alone and indent is not None else " "
    at = Place(document.file, end.end_line, end.end_column, end.end_line, end.end_column)
    if document.yaml:
        return (Edit(at, "", f"{space}{name}: {_shown(document, value, '')}", safe),) if alone else ()
    return (Edit(at, "", f',{space}"{name}": {_shown(document, value, "")}', safe),)


def _lines_away(document: Document, lines: list[str], first: int, last: int, safe: bool) -> tuple[Edit, ...]:
    if last >= len(lines):
        return ()
    place = Place(document.file, first, 1, last + 1, 1)
    return _some(place, "".join(f"{line}\n" for line in lines[first - 1 : last]), "", safe)


def _last_away(document: Document, lines: list[str], first: int, last: int, safe: bool) -> tuple[Edit, ...]:
    """The last member: the comma before it goes, too."""
    above = first - 1
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if above == 0 or not lines[above - 1].rstrip().endswith(","):
        return ()
    kept = lines[above - 1].rstrip()
    start = len(kept)
    place = Place(document.file, above, start, last, len(lines[last - 1]) + 1)
    text = "\n".join([lines[above - 1][start - 1 :], *lines[above:last]])
    return _some(place, text, "", safe)


def _some(place: Place, before: str, after: str, safe: bool) -> tuple[Edit, ...]:
    return (Edit(place, before, after, safe),) if before and before != after else ()


def _between(document: Document, place: Place) -> str:
    """The text of a place on one line; "" where it goes over several."""
    lines = document.text.split("\n")
    if not 0 < place.line <= len(lines) or place.line != place.end_line:
        return ""
    return lines[place.line - 1][place.column - 1 : place.end_column - 1]


def _shown(document: Document, value: Any, before: str) -> str:
    """A value as the file writes it: JSON, or YAML in the quotes that it had."""
    if not document.yaml or not isinstance(value, str):
        return json.dumps(value)
    quote = before[:1] if before[:1] in ("'", '"') else ""
    return f"{quote}{value}{quote}" if quote or _PLAIN.match(value) else json.dumps(value)
