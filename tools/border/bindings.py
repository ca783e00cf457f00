"""The pybind11 bindings of the records: record_bindings.inc, which core/bindings/records.cpp includes."""

from __future__ import annotations

from border.headers import Model


def bindings(model: Model) -> str:
    lines = ["// Written by tools/generate_border.py from core/model/*.h."]
    for enum in model.enums.values():
        lines.append(f'py::enum_<{enum.name}>(module, "{enum.name}")')
        lines += [
            f'    .value("{word.upper()}", {enum.name}::{value.name})'
            for word, value in zip(enum.words(), enum.values, strict=True)
        ]
        lines[-1] += ";"
    for record in model.records.values():
        lines.append(f'bind_record<{record.name}>(module, "{record.name}")')
        lines += [f'    .def_readwrite("{each.python_name}", &{record.name}::{each.name})' for each in record.fields]
        lines += [
            f'    .def_property_readonly("{each.name}", &{record.name}::{each.name}, py::return_value_policy::copy)'
            for each in record.properties
        ]
        lines[-1] += ";"
    return "\n".join([*lines, ""])


def includes(model: Model) -> str:
    headers = {each.header for each in (*model.records.values(), *model.enums.values())}
    return "\n".join([*(f'#include "model/{header}"' for header in sorted(headers)), ""])
