"""Each sentence of the rules for source and for live models is a message, and its template has its Chinese.

The sources are read, not run: no rule has to find something for its sentences to be seen.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCTOR = ROOT / "devsan/doctor"
SLOT = re.compile(r"\{(\w+)\}")
KINDS = ("source", "live")


def files(kind: str) -> list[Path]:
    return sorted((DOCTOR / kind).rglob("*.py"))


def catalog(kind: str) -> dict[str, str]:
    groups = json.loads((DOCTOR / kind / "chinese.json").read_text(encoding="utf-8"))
    return {english: said for group in groups.values() for english, said in group.items()}


def is_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("message", "plural")


def messages(kind: str) -> Iterator[tuple[str, ast.Call]]:
    for path in files(kind):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if is_message(node):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def templates(call: ast.Call) -> list[ast.expr]:
    return call.args[: 1 if call.func.id == "message" else 2]


def slots(template: str) -> set[str]:
    return set(SLOT.findall(template))


@pytest.mark.parametrize("kind", KINDS)
def test_templates_are_literals_and_have_the_slots_that_are_filled(kind: str):
    for place, call in messages(kind):
        filled = {word.arg for word in call.keywords} | ({"n"} if call.func.id == "plural" else set())
        for template in templates(call):
            assert isinstance(template, ast.Constant), f"{place}: not a literal: {ast.unparse(template)}"
            assert slots(template.value) == filled, f"{place}: {template.value}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_catalog_has_every_template_and_no_other(kind: str):
    # What is said of live models is reported by ranks and run files as well, which read the catalog of `live` only.
    shared = catalog("live") if kind == "source" else {}
    said = {templates(call)[0].value for _, call in messages(kind)}
    assert len(said) > 50
    assert said - set(catalog(kind)) - set(shared) == set(), "without Chinese"
    assert set(catalog(kind)) - said == set(), "said by nobody"


@pytest.mark.parametrize("kind", KINDS)
def test_the_chinese_has_the_slots_of_the_english(kind: str):
    for english, said in catalog(kind).items():
        assert slots(said) == slots(english), english
        assert said != english


def test_nothing_is_in_two_catalogs():
    assert set(catalog("source")) & set(catalog("live")) == set()


def sentences(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the texts of several words in an expression or statement that no message says."""
    if is_message(node):
        return
    if isinstance(node, ast.keyword) and node.arg == "subject":
        return  # a name
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    if any(isinstance(part, ast.Constant) and is_words(part.value) for part in parts):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):  # a docstring
            yield from sentences(child)


def is_words(text: object) -> bool:
    return isinstance(text, str) and " " in text and re.search("[A-Za-z]{2}", text) is not None


@pytest.mark.parametrize("path", [path for kind in KINDS for path in files(kind) if "rules" in path.parts])
def test_rules_say_nothing_but_messages(path: Path):
    bare = [ast.unparse(node) for node in sentences(ast.parse(path.read_text(encoding="utf-8")))]
    assert bare == []
