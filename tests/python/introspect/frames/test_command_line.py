"""The text of ``python -c`` is the source of its own code, and of no other code that is called <string>."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType

import pytest

from devsan.introspect.frames.frames import frames_of

TEXT = "def divide():\n    return 1 / 0\n\n\ndivide()\n"


def failed(code: CodeType) -> None:
    try:
        exec(code, {})
    except ZeroDivisionError as error:
        assert error.__traceback__ is not None
        frames_of(error.__traceback__.tb_next)


@pytest.fixture(autouse=True)
def command_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", TEXT])
    linecache.cache.pop("<string>", None)
    yield
    linecache.cache.pop("<string>", None)


def test_the_text_is_known_in_its_functions_too() -> None:
    failed(compile(TEXT, "<string>", "exec", dont_inherit=True))
    assert linecache.getline("<string>", 2) == "    return 1 / 0\n"


def test_what_exec_runs_afterwards_has_no_source() -> None:
    failed(compile(TEXT, "<string>", "exec", dont_inherit=True))
    failed(compile("x = 0\n1 / x\n", "<string>", "exec"))
    assert "<string>" not in linecache.cache
