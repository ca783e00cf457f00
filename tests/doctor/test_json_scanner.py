"""JSON with places: equal to the json module's reading, and to hjson's where that takes more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devsan.doctor.json_scanner import scan_json
from devsan.doctor.nodes import Malformed, Node
from tests.doctor.test_mutations import VALUES

QUICK = settings(max_examples=150, derandomize=True, deadline=None, database=None)


def plain(node: Node) -> Any:
    if node.kind == "object":
        return {name: plain(member.node) for name, member in node.members.items()}
    return [plain(each) for each in node.elements] if node.kind == "list" else node.value


def at(text: str, node: Node) -> str:
    """The text that stands at a node's place."""
    lines = text.split("\n")
    place = node.place
    if place.line == place.end_line:
        return lines[place.line - 1][place.column - 1 : place.end_column - 1]
    whole = [lines[place.line - 1][place.column - 1 :], *lines[place.line : place.end_line - 1]]
    return "\n".join([*whole, lines[place.end_line - 1][: place.end_column - 1]])


@QUICK
@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_reads_what_json_reads_with_its_place(value, indent):
    text = json.dumps(value, indent=indent)
    node, quirks = scan_json(text, "x.json")
    assert quirks == ()
    assert repr(plain(node)) == repr(json.loads(text))
    nodes = [node]
    while nodes:
        each = nodes.pop()
        assert repr(plain(each)) == repr(json.loads(at(text, each)))
        nodes += [*(member.node for member in each.members.values()), *each.elements]


@pytest.mark.parametrize(
    ("text", "value", "quirk"),
    [
        ('{"a": 1, // why\n"b": 2}', {"a": 1, "b": 2}, "a comment"),
        ('# top\n{"a": 1}', {"a": 1}, "a comment"),
        ('{"a": /* here */ 1}', {"a": 1}, "a comment"),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "a comma after the last entry"),
        ('{"a": 1\n"b": 2}', {"a": 1, "b": 2}, "no comma after this entry"),
        ("{a: 1}", {"a": 1}, "a key without quotes"),
        ("{'a': 'b'}", {"a": "b"}, "single quotes"),
        ("{a: AdamW\nb: true}", {"a": "AdamW", "b": True}, "a key without quotes"),
    ],
)
def test_reads_what_hjson_reads(text, value, quirk):
    hjson = pytest.importorskip("hjson", reason="it comes with DeepSpeed")
    node, quirks = scan_json(text, "x.json")
    assert plain(node) == value == hjson.loads(text)
    assert quirk in [each.what for each in quirks]
    with pytest.raises(ValueError):
        json.loads(text)


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("", 1, 1, "a value"),
        ('{"a": 1', 1, 8, "}"),
        ('{"a" 1}', 1, 6, "a colon after 'a'"),
        ('{"a": 1 "b": 2}', 1, 9, "a comma or }"),
        ('{\n  "a": "b\n}', 2, 10, "a quoted string that ends on the same line"),
        ('{"a": 1} {', 1, 10, "the end of the file"),
        ("[" * 200, 1, 101, "at most 100 levels"),
    ],
)
def test_says_where_it_stopped(text, line, column, expected):
    with pytest.raises(Malformed) as error:
        scan_json(text, "x.json")
    assert (error.value.place.line, error.value.place.column, error.value.expected) == (line, column, expected)


def test_keys_that_are_given_twice():
    node, _ = scan_json('{"a": {"b": 1, "b": 2}, "a": 3}', "x.json")
    assert [(key, place.column) for key, place in node.all_twice()] == [("a", 25)]
    node, _ = scan_json('{"a": {"b": 1, "b": 2}}', "x.json")
    assert [(key, place.column) for key, place in node.all_twice()] == [("b", 16)]
