"""What functions keep from call to call."""

from __future__ import annotations

import functools
from types import SimpleNamespace

from devsan.introspect.frames.frames import Whose
from devsan.introspect.models.functions import keeper_of, kept_by


def function(x, kept="default", *, only="keyword"):
    return x, kept, only


def maker(value):
    return lambda: value


class Holder:
    def method(self):
        return self


def frame_of(code, names, shared=None):
    scope = SimpleNamespace(locals=names, globals=shared or {})
    line = code.co_firstlineno + 1
    return SimpleNamespace(whose=Whose.PROGRAM, code=code, function=code.co_name, scope=scope, line=line)


def test_defaults_captured_variables_partials_and_methods_are_kept():
    assert dict(kept_by(function)) == {".kept": "default", ".only": "keyword"}
    assert dict(kept_by(maker(3))) == {".value": 3}
    assert dict(kept_by(functools.partial(maker(3), 1, scale=2))) == {".scale": 2, ".args[0]": 1, ".value": 3}
    holder = Holder()
    assert dict(kept_by(holder.method)) == {"": holder}
    assert list(kept_by("no function")) == []


def test_a_running_function_keeps_its_default_but_not_what_it_was_given():
    table = ["table"]

    def lookup(index, table=table):
        return table[index]

    outer = frame_of(maker.__code__, {"value": table})
    assert keeper_of(table, [frame_of(lookup.__code__, {"index": 0, "table": table})]) == "lookup"
    given = ["given"]
    assert keeper_of(given, [outer, frame_of(lookup.__code__, {"index": 0, "table": given})]) == ""


def test_what_is_captured_is_kept_only_after_the_enclosing_function_has_ended():
    value = ["value"]
    inner = frame_of(maker(value).__code__, {"value": value})
    assert keeper_of(value, [inner]) == "<lambda>"
    assert keeper_of(value, [frame_of(maker.__code__, {"value": value}), inner]) == ""


def calling(x):
    return spectrum(x)  # type: ignore[name-defined]  # noqa: F821


def naming(x):
    return x, spectrum  # type: ignore[name-defined]  # noqa: F821


def test_a_partial_that_the_line_calls_keeps_what_it_was_given():
    window = ["window"]
    shared = {"spectrum": functools.partial(function, kept=window)}
    assert keeper_of(window, [frame_of(calling.__code__, {"x": 1}, shared)]) == "spectrum"
    assert keeper_of(["other"], [frame_of(calling.__code__, {"x": 1}, shared)]) == ""
    assert keeper_of(window, [frame_of(naming.__code__, {"x": 1}, shared)]) == ""
    assert keeper_of(window, [frame_of(calling.__code__, {"x": 1}, {**shared, "window": window})]) == ""
