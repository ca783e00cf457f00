"""The records of core/model as its headers declare them: plain structs and enumerations with Doxygen comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "core" / "model"
BY_HAND = frozenset({"device.h", "message.h"})  # a device and a message are values with converters of their own

SCALARS = {
    "bool": "bool", "int": "int", "long": "int", "std::size_t": "int", "std::int64_t": "int", "std::uint64_t": "int",
    "double": "float", "std::string": "str", "Device": "Device", "Message": "Message",
}  # fmt: skip
# What Python calls a field whose C++ name is a keyword there, and its counterpart.
RENAMED = {"from": "from_device", "to": "to_device"}

_STRUCT = re.compile(r"struct (\w+) \{")
_ENUM = re.compile(r"enum class (\w+) \{")
_ALIAS = re.compile(r"using (\w+) = (.+);")
_FIELD = re.compile(r"(?P<type>[\w:<>, ]+?) (?P<name>\w+)(?: = (?P<default>[^;]+))?;")
_PROPERTY = re.compile(r"(?P<type>[\w:<>,* ]+?) ?(?P<name>\w+)\(\) const\b")


class Unsupported(Exception):
    """A declaration that cannot cross the border, in one sentence."""


@dataclass(frozen=True)
class Type:
    """What a field holds.

    Attributes:
        kind: "scalar", "enum", "record", "list", "optional", "dict" (of texts).
        name: of a scalar Python's, of an enumeration or a record its own.
        of: what a list or an optional holds.
    """

    kind: str
    name: str = ""
    of: Type | None = None


@dataclass
class Field:
    """A field, or a method without arguments, which is a property in Python."""

    name: str
    type: Type
    doc: str

    @property
    def python_name(self) -> str:
        return RENAMED.get(self.name, self.name)


@dataclass
class Record:
    name: str
    header: str
    doc: str
    fields: list[Field] = field(default_factory=list)
    properties: list[Field] = field(default_factory=list)


@dataclass
class Enum:
    name: str
    header: str
    doc: str
    values: list[Field] = field(default_factory=list)  # without types

    def words(self) -> list[str]:
        """The values as documents write them: kOptimizerState is "optimizer_state"."""
        return [re.sub(r"(?<!^)(?=[A-Z])", "_", value.name.removeprefix("k")).lower() for value in self.values]


@dataclass
class Model:
    """Everything that crosses the border."""

    records: dict[str, Record] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)


def read_model(folder: Path = FOLDER) -> Model:
    """Returns what the headers of ``folder`` declare.

    Raises:
        Unsupported: a field has a type that cannot cross the border.
    """
    found, aliases = Model(), dict[str, str]()
    declared: list[tuple[str, Record, bool, str, str, str]] = []
    for path in sorted(folder.glob("*.h")):
        if path.name not in BY_HAND:
            declared.extend(_read_header(path, found, aliases))
    for where, record, is_field, text, name, doc in declared:
        made = _type(text, found, aliases)
        if made is None and is_field:
            raise Unsupported(
                f"{where}: expected {record.name}::{name} to be a number, bool, std::string, Device, Message, a record "
                "or an enumeration of core/model, a std::vector or std::optional of these, or a std::map of texts, "
                f"got {text}"
            )
        if made is not None:
            (record.fields if is_field else record.properties).append(Field(name, made, doc))
    return found


def _read_header(
    path: Path, found: Model, aliases: dict[str, str]
) -> Iterator[tuple[str, Record, bool, str, str, str]]:
    """Adds the records and enumerations of a file; yields (place, record, is it a field, type, name, comment)."""
    lines = iter(enumerate(path.read_text("utf-8").splitlines(), start=1))
    doc: list[str] = []
    for _, line in lines:
        if line.startswith("///"):
            doc.append(line[3:].strip())
            continue
        if match := _ALIAS.fullmatch(line):
            aliases[match[1]] = match[2]
        elif match := _ENUM.match(line):
            enum = Enum(match[1], path.name, " ".join(doc))
            enum.values = list(_values(line[match.end() :], lines))
            found.enums[enum.name] = enum
        elif match := _STRUCT.fullmatch(line):
            record = Record(match[1], path.name, " ".join(doc))
            found.records[record.name] = record
            for at, code, comment in _statements(lines):
                where = f"core/model/{path.name}:{at}"
                if "(" not in code:
                    field_match = _FIELD.fullmatch(code)
                    if field_match is None:
                        raise Unsupported(f"{where}: expected a field of {record.name}, got {code}")
                    yield where, record, True, field_match["type"], field_match["name"], comment
                elif (method := _PROPERTY.match(code)) is not None and "operator" not in code:
                    yield where, record, False, method["type"], method["name"], comment
        doc = []


def _values(first: str, lines: Iterator[tuple[int, str]]) -> Iterator[Field]:
    text = first
    while True:
        code, _, comment = text.partition("///<")
        for value in code.partition("}")[0].split(","):
            if value.strip():
                yield Field(value.partition("=")[0].strip(), Type("enum"), comment.strip())
        if "}" in code:
            return
        text = next(lines)[1]


def _statements(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yields line, code and comment of each declaration of a struct, up to its end."""
    code, doc, begin = "", list[str](), 0
    for number, line in lines:
        if line.startswith("};"):
            return
        text, _, comment = line.partition("//")
        if comment.startswith("/"):
            doc.append(comment.removeprefix("/").removeprefix("<").strip())
        if not text.strip():
            continue
        begin = begin if code else number
        code = f"{code} {text.strip()}".strip()
        if code.count("{") == code.count("}") and code.endswith((";", "}")):
            yield begin, code, " ".join(doc)
            code, doc = "", []


def _type(text: str, found: Model, aliases: dict[str, str]) -> Type | None:
    text = aliases.get(text, text)
    if text in SCALARS:
        return Type("scalar", SCALARS[text])
    if text in found.enums:
        return Type("enum", text)
    if text in found.records:
        return Type("record", text)
    if text == "std::map<std::string, std::string>":
        return Type("dict")
    for kind, pattern in (("list", r"std::vector<(.+)>"), ("optional", r"std::optional<(.+)>|const (\w+)\s?\*")):
        if match := re.fullmatch(pattern, text):
            inner = _type(next(filter(None, match.groups())), found, aliases)
            return Type(kind, of=inner) if inner is not None else None
    return None
