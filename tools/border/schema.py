"""The definitions of the records in docs/reference/run.schema.json, between those that are written by hand."""

from __future__ import annotations

import json
import re
from typing import Any

from border.headers import Enum, Model, Type
from border.shapes import SHAPES, entries

_TYPES = {"str": "string", "Message": "string", "int": "integer", "bool": "boolean", "float": "number"}
_FRAME = {"anyOf": [{"$ref": "#/$defs/frame"}, {"type": "null"}]}
_WIDTH = 120

Schema = dict[str, Any]


def schema(model: Model, before: str) -> str:
    """Returns the schema ``before`` with the definitions of the records as the headers have them."""
    whole: Schema = json.loads(before)
    defined: Schema = whole["$defs"]
    for enum in model.enums.values():
        if _snake(enum.name) in defined:
            defined[_snake(enum.name)] = _words(enum)
    made: dict[str, Schema] = {}
    late: set[str] = set()
    by_hand: dict[str, set[str]] = {}
    for name, shape in SHAPES.items():
        if shape.name:
            properties = made.setdefault(shape.name, {})
            for key, each in entries(model.records[name]):
                if each.type.name == "Span":
                    properties |= {part: {"type": "integer"} for part in ("line", "column", "end_line", "end_column")}
                    continue
                properties[key] = _type(each.type, model, defined)
                if doc := each.doc or (model.enums[each.type.name].doc if each.type.kind == "enum" else ""):
                    properties[key]["description"] = doc
                if each.name in shape.late:
                    late.add(f"{shape.name}.{key}")
            by_hand.setdefault(shape.name, set()).update({*shape.by_hand, *shape.beside})
    for name, properties in made.items():
        old = defined.setdefault(name, {"type": "object", "required": [], "properties": {}})
        kept = {key: each for key, each in old["properties"].items() if key in by_hand[name]}
        names = sorted({**properties, **kept}, key=[*old["properties"], *properties].index)
        old["properties"] = {key: properties.get(key) or kept[key] for key in names}
        old["required"] = [
            key for key in names if (key in old["required"] if key in kept else f"{name}.{key}" not in late)
        ]
    return _written(whole, 0) + "\n"


def _type(kind: Type, model: Model, defined: Schema) -> Schema:
    if kind.kind == "list" and kind.of is not None:
        inner = {"$ref": "#/$defs/frame"} if kind.of.name == "Frame" else _type(kind.of, model, defined)
        return {"type": "array", "items": inner}
    if kind.name == "Frame" or (kind.of is not None and kind.of.name == "Frame"):
        return json.loads(json.dumps(_FRAME))
    if kind.kind == "optional" and kind.of is not None:
        return {"anyOf": [_type(kind.of, model, defined), {"type": "null"}]}
    if kind.kind == "enum":
        name = _snake(kind.name)
        return {"$ref": f"#/$defs/{name}"} if name in defined else _words(model.enums[kind.name])
    if kind.kind == "record":
        return {"$ref": f"#/$defs/{SHAPES[kind.name].name}"}
    return {"$ref": "#/$defs/device"} if kind.name == "Device" else {"type": _TYPES[kind.name]}


def _words(enum: Enum) -> Schema:
    return {"enum": enum.words()}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _written(value: Any, depth: int, key: str = "") -> str:
    """JSON as one writes it by hand: properties have a line each, and so has what leads to them."""
    line = json.dumps(value, ensure_ascii=False)
    inner_most = '"properties": ' not in line
    if not isinstance(value, dict):
        if inner_most:
            return line
        listed = ",\n".join("  " * (depth + 1) + _written(each, depth + 1) for each in value)
        return f"[\n{listed}\n{'  ' * depth}]"
    if inner_most and (key not in ("properties", "$defs") or len(line) <= _WIDTH - 2 * depth):
        return line
    listed = ",\n".join(
        f"{'  ' * (depth + 1)}{json.dumps(name)}: {_written(each, depth + 1, name)}" for name, each in value.items()
    )
    return f"{{\n{listed}\n{'  ' * depth}}}"
