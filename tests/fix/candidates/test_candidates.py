"""The order of candidates, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devsan.fix.candidates import candidates
from devsan.fix.failure import Failure
from devsan.fix.scope import LITERAL, devices
from devsan.fix.source import source_of

TEXT = """import torch


class Net(torch.nn.Module):
    def table(self, size):
        return torch.ones(size)

    def forward(self, x):
        return x * self.table(3)
"""


def _span(source: str, line: int, text: str) -> dict[str, int]:
    column = source.split("\n")[line - 1].index(text) + 1
    return {"line": line, "column": column, "end_line": line, "end_column": column + len(text)}


def _failure(path: Path) -> Failure:
    path.write_text(TEXT, encoding="utf-8")
    frame = {"path": str(path), "function": "Net.table", **_span(TEXT, 6, "torch.ones(size)")}
    caller = {"path": str(path), "function": "Net.forward", **_span(TEXT, 9, "x * self.table(3)")}
    common: dict[str, Any] = {"role": "", "qualified_name": "", "shape": [3], "requires_grad": False, "kind": "local",
                              "replaced_at": None}  # fmt: skip
    made = {
        "kind": "made",
        "device": "cpu",
        "device_text": "",
        "frames": [frame],
        "owner": {"name": "program", "mechanism": "ones", "setting": ""},
    }
    operands = [
        {**common, "name": "x", "device": "cuda:0", "offending": False, "provenance": (), **_span(TEXT, 9, "x")},
        {**common, "name": "self.table(3)", "device": "cpu", "offending": True, "provenance": [made],
         **_span(TEXT, 9, "self.table(3)")},
    ]  # fmt: skip
    return Failure(
        {
            "op": "",
            "kind": "mixed",
            "code": "",
            "title": "",
            "operands": operands,
            "stack": [caller],
            "sentence": "",
            "rank": None,
        }
    )


def test_an_expression_that_is_in_scope_comes_before_a_device_that_is_written_out(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr("devsan.fix.candidates.offered.propose", lambda _: ())
    found = candidates(_failure(tmp_path / "net.py"))
    edits = [change.edits[0].after for change in found]
    assert edits[0] == "torch.ones(size, device=next(self.parameters()).device)"
    assert edits.index("self.table(3).to(x.device)") < edits.index('torch.ones(size, device="cuda:0")')
    assert edits.index('torch.ones(size, device="cuda:0")') < edits.index('x.to("cpu")')
    assert len(set(edits)) == len(edits)


def test_a_name_of_another_function_is_not_in_scope(tmp_path: Path):
    failure = _failure(tmp_path / "net.py")
    source = source_of(str(tmp_path / "net.py"))
    assert source is not None
    made = source.expression_at(failure.operands[1]["provenance"][0]["frames"][0])
    assert made is not None
    assert devices(source, made, failure.operands[0]) == [
        ("next(self.parameters()).device", 0), ('"cuda:0"', LITERAL)
    ]  # fmt: skip


def _devices_at(path: Path, text: str, place: str, operand: dict[str, Any]) -> list[str]:
    path.write_text(text, encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    line = next(number for number, each in enumerate(text.split("\n"), 1) if place in each)
    node = source.expression_at({"path": str(path), "function": "", **_span(text, line, place)})
    assert node is not None
    blank = {"role": "", "qualified_name": "", "kind": "local", "device": "cuda:1", "provenance": ()}
    return [device for device, _ in devices(source, node, {**blank, **operand})]


def test_what_the_methods_of_a_tensor_return_is_where_the_tensor_is(tmp_path: Path):
    text = "def attend(scores, values):\n    scores = scores * 2\n    return scores.softmax(-1) @ values.t()\n"
    assert _devices_at(tmp_path / "a.py", text, "values.t()", {"name": "scores.softmax(-1)"})[0] == "scores.device"


def test_an_expression_of_another_class_is_not_known(tmp_path: Path):
    text = """class Net:
    def __init__(self, depth):
        self.blocks = [Block().to(self.devices[i * 2 // depth]) for i in range(depth)]


class Block:
    def forward(self, x, y):
        return x + y
"""
    placed = {"device_text": "self.devices[i * 2 // depth]", "frames": [], "owner": {}}
    found = _devices_at(tmp_path / "b.py", text, "x + y", {"name": "", "provenance": [placed]})
    assert found and not any("devices" in each for each in found)


def test_a_class_without_bases_has_no_parameters(tmp_path: Path):
    text = "class Meter:\n    def read(self):\n        return self.first + self.second\n"
    found = _devices_at(tmp_path / "c.py", text, "self.first + self.second", {"name": ""})
    assert found == ['"cuda:1"']


def test_the_largest_weight_of_a_module_stands_for_the_others(tmp_path: Path):
    failure = _failure(tmp_path / "net.py")
    x, y = failure.operands
    weights = [
        {**x, "name": f"self.rnn.{name}", "kind": "parameter", "shape": [size]} for name, size in (("b", 2), ("w", 6))
    ]
    pairs = Failure({**failure.finding, "operands": [*weights, y]}).pairs()
    assert [(one["name"], other["name"]) for one, other in pairs if one is y] == [("self.table(3)", "self.rnn.w")]
