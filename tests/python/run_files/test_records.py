"""The core's records as plain data, which the schema of run files allows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch  # noqa: F401  the core's libraries

from devsan import core
from devsan.diagnostics.codec import plain_fix
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Place
from devsan.introspect.explain import Explanation
from devsan.run_files import records
from devsan.run_files.document import findings_of

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "reference" / "run.schema.json").read_text("utf-8"))


def frame(line: int) -> core.Frame:
    return core.Frame(
        file="/x/train.py", span=core.Span(line=line, column=5, end_line=line, end_column=9), function="train",
        source="x.to(d)", package="", module="model.layers.0",
    )  # fmt: skip


def event() -> core.Event:
    owner = core.Owner(name="accelerate", mechanism="AlignDevicesHook", setting='device_map[""] = 1', where=frame(3))
    return core.Event(
        kind=core.EventKind.MOVED, device="cuda:1", from_device="cpu", op="Tensor.to", bytes=512, owner=owner,
        stack=[frame(7), frame(9)], source=core.DeviceSource.MAP, device_text="d", followed="x", subject="layers.0",
        discarded=True,
    )  # fmt: skip


def operand() -> core.Operand:
    return core.Operand(
        role="mat2", name="weight", kind=core.OperandKind.OPTIMIZER_STATE, device="cuda:0", shape=[3, 4],
        provenance=[event()], span=core.Span(line=1, column=2, end_line=3, end_column=4),
    )  # fmt: skip


def model() -> core.Model:
    hook = core.Hook(type="AlignDevicesHook", owner=core.Owner(name="accelerate"), execution_device="cuda:1")
    tensor = core.ModuleTensor(name="weight", device="cuda:1", dtype="float32", bytes=4)
    return core.Model(
        type="Net", device_map=[core.MapEntry(key="", device="cuda:1")], placements=[event()],
        modules=[core.Module(path="", type="Net", tensors=[tensor], hooks=[hook])],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("event", lambda: records.event_of(event())),
        ("operand", lambda: records.operand_of(operand())),
        ("model", lambda: {"finding": "", **records.model_of(model())}),
        ("fix", lambda: plain_fix(Fix("move it", "likely", (Edit(Place("a.py", 1), "a", "b"),)))),
        ("event", lambda: records.event_of(core.Event())),
        ("operand", lambda: records.operand_of(core.Operand())),
    ],
)
def test_the_schema_allows_what_is_written(name: str, made: Callable[[], dict[str, Any]]) -> None:
    plain = json.loads(json.dumps(made()))
    definition = SCHEMA["$defs"][name]
    jsonschema.validate(plain, {**definition, "$defs": SCHEMA["$defs"]})
    assert set(plain) == set(definition["properties"]), "no property is missing, and none unknown"


def test_an_event_comes_back_as_it_was() -> None:
    plain = json.loads(json.dumps(records.event_of(event())))
    assert records.event_of(records.event_from(plain)) == plain


def test_numbers_of_a_span_stand_in_the_operand() -> None:
    plain = records.operand_of(operand())
    assert (plain["line"], plain["column"], plain["end_line"], plain["end_column"]) == (1, 2, 3, 4)
    assert (plain["kind"], plain["device"], plain["shape"]) == ("optimizer_state", "cuda:0", [3, 4])


def test_a_collective_without_what_came_later_is_read() -> None:
    plain = {
        "group": "default", "members": [0, 1], "sequence": 3, "name": "all_reduce", "shapes": [[2, 2]], "bytes": 16,
        "dtype": "float32", "device": "cuda:0", "since": 1.5, "finished": False, "where": None, "condition": "",
    }  # fmt: skip
    found = records.collective_from(plain)
    assert (list(found.members), [list(shape) for shape in found.shapes], found.through) == ([0, 1], [[2, 2]], "")
    assert not found.where.is_known


def test_findings_are_made_plain_once() -> None:
    sentence = "Expected all tensors to be on the same device"
    report = Diagnostic(title="cuda:0 and cpu", sentence=sentence, code="DV101")
    finding = core.Finding(code="DV101", evidence=["it is on the CPU"])
    explanation = Explanation(core.Facts(failure=core.Failure(operands=[operand()])), [finding])
    [first], [second] = findings_of(report, explanation, 1.0), findings_of(report, explanation, 2.0)
    assert (first["code"], first["headline"], first["time"], second["time"]) == ("DV101", "cuda:0 and cpu", 1.0, 2.0)
    assert first["operands"] is second["operands"]
