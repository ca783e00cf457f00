"""Every sentence of the rules is a message whose template the catalog has, and the catalog has no other template.

The rules' sources are parsed: a test that runs them would know only the sentences that its cases lead to.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devsan.diagnostics import catalog as catalogs
from devsan.diagnostics.messages import message
from devsan.render.language import language_named

DOCTOR = Path(__file__).parents[2] / "devsan/doctor"
RULES = sorted((DOCTOR / "rules").rglob("*.py"))
SOURCES = [*RULES, *sorted(DOCTOR.glob("*.py"))]
FIELDS = ("code", "title", "place", "evidence", "fix")
SAID = ("title", "evidence", "fix", "others")
WORDS = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
JOINT = re.compile(r"\W* [a-z ]{2,}|[a-z ]{2,} \W*")  # of two pieces: " and "
PIECE = re.compile(r"[a-z]{2,} | [a-z]{2,}")  # of an f-string, beside what is put in
COMMAND = re.compile(r"(export|deepspeed|pip install) \S+( localhost:\S+)?")  # the same in every language


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def slots(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", template))


def catalog() -> dict[str, str]:
    groups = json.loads((DOCTOR / "chinese.json").read_text(encoding="utf-8"))
    return {
        english: chinese for name, group in groups.items() if name != "phrases" for english, chinese in group.items()
    }


def templates(call: ast.Call) -> list[ast.expr]:
    return call.args[: 1 if isinstance(call.func, ast.Name) and call.func.id == "message" else 2]


def bare(node: ast.AST | None) -> Iterator[str]:
    """The constants and f-strings that an expression may yield."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield ast.unparse(node)
    elif isinstance(node, (ast.Tuple, ast.List)):
        for each in node.elts:
            yield from bare(each)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from bare(each)
    elif isinstance(node, ast.IfExp):
        yield from (*bare(node.body), *bare(node.orelse))
    elif isinstance(node, (ast.Starred, ast.keyword)):
        yield from bare(node.value)


def loose(node: ast.AST) -> Iterator[str]:
    """Words that stand outside of messages; what is compared, a name of a finding's subject and docstrings aside."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    if isinstance(node, ast.keyword) and node.arg == "subject":
        return
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (WORDS.search(node.value) or JOINT.fullmatch(node.value))
    ):
        yield node.value
    if isinstance(node, ast.JoinedStr) and any(
        isinstance(part, ast.Constant) and PIECE.search(str(part.value)) for part in node.values
    ):
        yield ast.unparse(node)
    message = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("message", "plural")
    for child in node.keywords if isinstance(node, ast.Call) and message else ast.iter_child_nodes(node):
        yield from loose(child)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(DOCTOR)))
def test_each_template_is_a_literal_with_its_slots_and_its_chinese(path):
    known = catalogs.chinese().templates
    for call in calls(parsed(path), "message", "plural"):
        given = {str(word.arg) for word in call.keywords} | ({"n"} if len(templates(call)) == 2 else set())
        for number, template in enumerate(templates(call)):
            assert isinstance(template, ast.Constant), ast.unparse(call)
            assert slots(str(template.value)) == given, ast.unparse(call)
            if number == 0:
                assert slots(known[str(template.value)]) == given, ast.unparse(call)


@pytest.mark.parametrize("path", RULES, ids=lambda path: str(path.relative_to(DOCTOR)))
def test_a_rule_has_no_words_but_messages(path):
    tree = parsed(path)
    assert list(loose(tree)) == []
    for call in calls(tree, "finding"):
        given = dict(zip(FIELDS, call.args, strict=False)) | {str(word.arg): word.value for word in call.keywords}
        for name in SAID:
            assert list(bare(given.get(name))) == []


def test_the_catalog_has_no_other_template():
    used = {str(templates(call)[0].value) for path in SOURCES for call in calls(parsed(path), "message", "plural")}
    assert len(used) > 250
    assert sorted(set(catalog()) - used) == []


def test_what_is_no_command_is_translated():
    for english, chinese in catalog().items():
        words = re.search("[A-Za-z]{2}", re.sub(r"\{\w+\}", "", english))
        assert not words or COMMAND.fullmatch(english) or re.search("[\u4e00-\u9fff]", chinese), english


@pytest.mark.parametrize("quoted", ["ImportError: libtorch_cuda.so: undefined symbol", '"optimizer": {"type": "Adam"}'])
def test_what_others_say_is_quoted(quoted):
    zh = language_named("zh")
    assert zh.text(quoted) == quoted
    assert zh.text(message("configure it in the file: {entry}", entry=quoted)).endswith(quoted)
