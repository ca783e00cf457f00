"""The types of the records for Python: devsan/_core_records.pyi."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from border.headers import Enum, Field, Model, Record, Type

_WIDTH = 120
_HEAD = '''"""The records of a diagnosis, which are in ``devsan._core``: at run time there is no module of this name.

Written by tools/generate_border.py from core/model/*.h. A list that is read is a copy: change it, then assign it.
"""

from collections.abc import Sequence
from typing import ClassVar

from devsan.diagnostics.messages import Message

class Device:
    """A device as torch writes it, "cuda:1" or "cpu"; "" is not known. A str is taken where one is expected."""

    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int: ...
    def __init__(self, text: str = "") -> None: ...
    def __hash__(self) -> int: ...
'''


def stub(model: Model) -> str:
    parts = [_HEAD]
    parts += ["\n".join(_enum(each)) for each in model.enums.values()]
    parts += ["\n".join(_record(each)) for each in model.records.values()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _enum(enum: Enum) -> Iterator[str]:
    yield f"class {enum.name}:"
    yield from _docstring(enum.doc)
    for word, value in zip(enum.words(), enum.values, strict=True):
        yield from _commented(f"{word.upper()}: ClassVar[{enum.name}]", value.doc)
    yield f"    __members__: ClassVar[dict[str, {enum.name}]]"
    yield "    @property"
    yield "    def name(self) -> str: ..."
    yield "    def __int__(self) -> int: ..."


def _record(record: Record) -> Iterator[str]:
    yield f"class {record.name}:"
    yield from _docstring(record.doc)
    for each in record.fields:
        yield from _commented(f"{each.python_name}: {read_type(each.type)}", each.doc)
    for each in record.properties:
        yield "    @property"
        yield f"    def {each.name}(self) -> {read_type(each.type)}:" + ("" if each.doc else " ...")
        if each.doc:
            yield from textwrap.wrap(f'"""{each.doc}"""', _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
            yield ""
    yield from _constructor(record.fields)


def _constructor(fields: list[Field]) -> Iterator[str]:
    taken = [f"{each.python_name}: {_given_type(each.type)} = ..." for each in fields]
    line = f"    def __init__(self, *, {', '.join(taken)}) -> None: ..."
    if len(line) <= _WIDTH:
        yield line
        return
    yield "    def __init__("
    yield "        self,"
    yield "        *,"
    for each in taken:
        yield f"        {each},"
    yield "    ) -> None: ..."


def read_type(kind: Type) -> str:
    """What Python reads of a field."""
    if kind.of is not None:
        inner = read_type(kind.of)
        return f"Sequence[{inner}]" if kind.kind == "list" else f"{inner} | None"
    return "dict[str, str]" if kind.kind == "dict" else kind.name


def _given_type(kind: Type) -> str:
    """What the constructor takes for it."""
    if kind.of is not None:
        inner = _given_type(kind.of)
        return f"Sequence[{inner}]" if kind.kind == "list" else f"{inner} | None"
    return {"Device": "Device | str", "Message": "str"}.get(kind.name, read_type(kind))


def _docstring(doc: str) -> Iterator[str]:
    if doc:
        yield from textwrap.wrap(f'"""{doc}"""', _WIDTH, initial_indent="    ", subsequent_indent="    ")
        yield ""


def _commented(code: str, doc: str) -> Iterator[str]:
    line = f"    {code}  # {doc}" if doc else f"    {code}"
    if len(line) <= _WIDTH:
        yield line
        return
    yield from textwrap.wrap(doc, _WIDTH, initial_indent="    # ", subsequent_indent="    # ")
    yield f"    {code}"
