"""Parsing: what is no Python says so, and threads that parse at once do not disturb each other."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

from devsan.introspect.source.parsing import parse, parse_expression

DEEP = "x = " + "(" * 60 + "1" + ")" * 60 + "\n"


def test_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse, [DEEP * 40] * 64))
    assert {len(tree.body) for tree in trees} == {40}


def test_a_disturbed_attempt_is_made_again() -> None:
    tree = ast.parse("a")
    with mock.patch("ast.parse", side_effect=[SystemError("AST constructor recursion depth mismatch"), tree]):
        assert parse("a") is tree
    with mock.patch("ast.parse", side_effect=SystemError), pytest.raises(SyntaxError):
        parse("a")


def test_what_is_no_python() -> None:
    for text in ("a =", "return)"):
        with pytest.raises(SyntaxError):
            parse(text)
    with pytest.raises(SyntaxError):
        parse_expression("a = 1")
    assert isinstance(parse_expression("a.b[1]"), ast.Subscript)
