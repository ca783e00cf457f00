"""From records to plain data and back: devsan/run_files/records.py."""

from __future__ import annotations

import re
from collections.abc import Iterator

from border.headers import Field, Model, Record, Type
from border.shapes import SHAPES, Shape, entries

_HEAD = '''"""The core's records as run files and the documents of ranks hold them, and back: plain dictionaries.

Written by tools/generate_border.py from core/model/*.h and tools/border/shapes.py.
"""

from __future__ import annotations

from devsan import core
from devsan.introspect.provenance.shown import sentence_of
from devsan.run_files.places import Plain, frame_from, frame_of, frames_of, word
'''


def documents(model: Model) -> str:
    parts = [_HEAD]
    for name, shape in SHAPES.items():
        record = model.records[name]
        if shape.writes:
            parts.append("\n".join(_writer(record, shape)))
        if shape.reads:
            parts.append("\n".join(_reader(record, shape)))
    return "\n\n".join(f"{part.rstrip()}\n" for part in parts)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _writer(record: Record, shape: Shape) -> Iterator[str]:
    given = _snake(record.name)
    yield f"def {given}_of({given}: core.{record.name}) -> Plain:"
    yield f'    """Returns what documents hold of {_article(record)}."""'
    yield "    return {"
    for name, each in entries(record):
        value = f"{given}.{each.python_name}"
        if each.type.name == "Span":  # its numbers stand beside the others
            yield from (f'        "{part}": {value}.{part},' for part in ("line", "column", "end_line", "end_column"))
        else:
            yield f'        "{name}": {_written(each.type, value)},'
    for name, value in shape.by_hand.items():
        yield f'        "{name}": {value},'
    yield "    }"


def _written(kind: Type, value: str) -> str:
    if kind.kind == "list" and kind.of is not None:
        if kind.of.name == "Frame":
            return f"frames_of({value})"
        inner = _written(kind.of, "each")
        return f"list({value})" if inner == "each" else f"[{inner} for each in {value}]"
    if kind.kind == "optional" and kind.of is not None:
        if kind.of.name == "Frame":
            return f"frame_of({value})"
        return f"None if {value} is None else {_written(kind.of, value)}"
    if kind.kind == "enum":
        return f"word({value})"
    if kind.kind == "record":
        return f"{_snake(kind.name)}_of({value})"
    return f"str({value})" if kind.name == "Device" else value


def _reader(record: Record, shape: Shape) -> Iterator[str]:
    yield f"def {_snake(record.name)}_from(plain: Plain) -> core.{record.name}:"
    yield f'    """Returns {_article(record)} as a document holds it."""'
    yield f"    return core.{record.name}("
    for name, each in entries(record):
        if each in record.fields:
            given = f'plain.get("{name}", "")' if each.name in shape.late else f'plain["{name}"]'
            yield f"        {each.python_name}={_read(each, each.type, given)},"
    yield "    )"


def _read(each: Field, kind: Type, value: str) -> str:
    if kind.kind == "list" and kind.of is not None:
        inner = _read(each, kind.of, "each")
        return value if inner == "each" else f"[{inner} for each in {value}]"
    if kind.kind == "enum":
        return f"core.{kind.name}.__members__[{value}.upper()]"
    if kind.kind == "record":
        return f"{_snake(kind.name)}_from({value})"
    return value


def _article(record: Record) -> str:
    words = _snake(record.name).replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
