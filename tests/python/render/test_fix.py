"""What ``devsan fix`` found: on a terminal in both languages, as JSON, and as annotations."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_github import read

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.diagnostics.messages import message, plural, restored
from devsan.fix.account import cost_in_words
from devsan.fix.result import Cost, FixResult, TriedFix, UpstreamPatch
from devsan.render import github
from devsan.render.json import render_fix
from devsan.render.terminal.fix import write
from devsan.render.terminal.text import display_width
from devsan.render.unified_diff import Replaced, changed_part, replaced

ROOT = Path(__file__).parents[3]

CHEAP = Cost(3, 1, 4096, {"cuda:0": 5 << 20, "cuda:1": 4 << 20}, 0.5, per_step=True)
DEAR = Cost(3, 2, 8 << 20, {"cuda:0": 13 << 20, "cuda:1": 4 << 20}, 0.5, per_step=True)
DIFF = """\
--- a/program.py
+++ b/program.py
@@ -4,3 +4,3 @@
 for _ in range(3):
     b = a.to("cuda:1")
-c = torch.zeros(1024, device="cuda:1")
+c = torch.zeros(1024, device=a.device)
"""
MUL = message("operands of {op} are on {devices} and {last}", op="aten::mul", devices="cuda:0", last="cuda:1")
EQUAL = message(
    "equal to one device: {what}",
    what=plural("{what} of {n} step", "{what} of {n} steps", 3,
                what=message("{first} and {last}", first=message("losses"), last=message("weights"))),
)  # fmt: skip


def tried(status: Any, text: str, line: int = 8, **known: Any) -> TriedFix:
    edit = Edit(Place("program.py", line, 5, line, 6, path="/x/program.py"), "b", 'b.to("cuda:0")')
    return TriedFix(status, (text,), known.pop("kinds", ("use_site",)), edits=(edit,), **known)


@pytest.fixture
def fixed(failed: Any) -> FixResult:
    ends = message("the program runs to its end")
    best = tried(
        "verified", message("put `{name}` on {device} where it is made", name="c", device="a.device"), 6,
        kinds=("creation_site",), codes=("DV102",), diff=DIFF, lines=2, evidence=(ends, EQUAL, cost_in_words(CHEAP)),
        cost=CHEAP,
    )  # fmt: skip
    other = message("fails at {place}: {what}", place="program.py:9:1",
                    what=MUL)  # fmt: skip
    difference = message("{kind} {number}: {difference}", kind=message("loss"), number=2,
                         difference=message("expected {one}, got {other}", one="0.5", other="0.25"))  # fmt: skip
    move = "move `{name}` to {device} where it is used"
    fixes = (
        best,
        tried("verified", message(move, name="b", device="a.device"), is_naive=True, cost=DEAR, lines=2,
              evidence=(ends, EQUAL, cost_in_words(DEAR))),
        tried("rejected", message(move, name="a", device="cpu"), cost=CHEAP,
              reason=message("it computes something else: {difference}", difference=difference)),
        tried("other", message(move, name="a", device="cuda:1"), reason=other),
        tried("failed", message(move, name="c", device="b.device"),
              reason=message("ends with {error}", error="NameError: c")),
        tried("same", message(move, name="c", device="cuda:1"), reason=message("the same failure")),
        tried("offered", message(move, name="c", device="cuda:0")),
    )  # fmt: skip
    finding = {**failed.run["findings"][0], "fixes": [], "naive_fix": ""}
    further = (("program.py:9:5", MUL),)
    return FixResult("fixed", ("program.py", "--epochs", "1"), "/x", finding, further, fixes, None, "", "", 8, 3.5)


@pytest.fixture
def not_fixed(fixed: FixResult, failed: Any) -> FixResult:
    rest = tuple(fix for fix in fixed.fixes if fix.status != "verified")
    return replace(fixed, status="not fixed", finding=failed.run["findings"][0], fixes=rest)


@pytest.fixture
def of_a_library(fixed: FixResult) -> FixResult:
    diff = DIFF.replace("program.py", "library/loss.py")
    best = replace(fixed.fixes[0], kinds=("upstream_patch",), is_own=False, diff=diff)
    return replace(fixed, fixes=(best,), patch=UpstreamPatch("Put c on a.device where it is made\n\nWhy.", diff))


def shown(result: FixResult, language: str = "en") -> str:
    stream = io.StringIO()
    write(result, stream, language)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["fixed", "not_fixed", "of_a_library"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_terminal(
    name: str, language: str, request: pytest.FixtureRequest, golden: Callable[[str, str], None]
) -> None:
    text = shown(request.getfixturevalue(name), language)
    golden(f"fix.{name}" + ("" if language == "en" else f".{language}"), text)
    prose = [line for line in text.splitlines() if not line.lstrip().startswith(("= torch", "|"))]
    assert [line for line in prose if display_width(line) > 80] == []


def test_nothing_to_fix() -> None:
    difference = "loss 2: expected 1, got 2"
    told = shown(FixResult("nothing to fix", ("train.py",), "/x", difference=difference))
    assert "note: on one GPU, where no tensor moves, it computes something else: loss 2:" in told
    assert shown(FixResult("nothing to fix", ("train.py",), "/x")).split("\n") == [
        "", "nothing to fix: the program runs to its end on these GPUs; devsan run also",
        "            reports what raises no error", "",
    ]  # fmt: skip


def test_a_failure_of_another_sort() -> None:
    assert "not fixed: the program fails for a reason other than its devices: ValueError: x" in shown(
        FixResult("not fixed", ("train.py",), "/x", error="ValueError: x")
    )


def test_where_memory_is_short_the_plan_is_next(not_fixed: FixResult) -> None:
    finding = {**(not_fixed.finding or {}), "code": "DV501"}
    told = " ".join(shown(replace(not_fixed, finding=finding)).split())
    assert "next: devsan plan program.py --epochs 1 looks for a placement, a batch or more GPUs with" in told
    assert "who placed each tensor" not in told


def test_a_program_that_takes_longer_than_it_may() -> None:
    error = message("stopped after {seconds} s", seconds="600")
    result = FixResult("not fixed", ("train.py",), "/x", error=error, stopped=True)
    told = " ".join(shown(result).split())
    assert told == "not fixed: the program was stopped after 600 s, before a device failure; --timeout allows more"
    assert "程序 600 秒后被中止" in shown(result, "zh")


def test_what_differs_is_marked(fixed: FixResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = shown(fixed).splitlines()
    assert any(line.endswith('device=\x1b[4;31m"cuda:1"\x1b[0m)') for line in lines)
    assert any(line.endswith("device=\x1b[1;4;32ma.device\x1b[0m)") for line in lines)


@pytest.mark.parametrize("name", ["fixed", "not_fixed", "of_a_library"])
def test_json(name: str, request: pytest.FixtureRequest) -> None:
    import jsonschema
    from referencing import Registry, Resource

    result = request.getfixturevalue(name)
    document = json.loads(render_fix(result))
    run, fix = (json.loads((ROOT / f"docs/reference/{each}.schema.json").read_text()) for each in ("run", "fix"))
    registry: Any = Registry().with_resource("run.schema.json", Resource.from_contents(run))
    jsonschema.Draft202012Validator(fix, registry=registry).validate(document)
    assert (document["version"], document["status"]) == (1, result.status)
    assert [fix["status"] for fix in document["fixes"]] == [fix.status for fix in result.fixes]
    sentence = restored(document)["fixes"][0]["texts"][0]
    assert sentence == result.fixes[0].texts[0] and sentence.id == result.fixes[0].texts[0].id


def test_annotations(fixed: FixResult) -> None:
    failure, suggestion = github.render_fix(fixed).splitlines(keepends=True)
    level, properties, data = read(failure)
    assert (level, properties["line"]) == ("error", "8")
    assert "help: put `c` on a.device where it is made (verified)" in data.splitlines()
    level, properties, data = read(suggestion)
    assert (level, properties) == (
        "notice", {"file": "program.py", "line": "6", "endLine": "6", "title": "verified fix"},
    )  # fmt: skip
    assert data.endswith("\n\n```suggestion\nc = torch.zeros(1024, device=a.device)\n```")
    assert "the program runs to its end" in data.splitlines()


def test_annotations_without_a_fix(not_fixed: FixResult) -> None:
    lines = github.render_fix(not_fixed).splitlines(keepends=True)
    assert [read(line)[0] for line in lines] == ["error", "notice"]
    assert read(lines[1])[2] == "4 changes were tried, and none is verified"


def test_new_lines_are_suggested_with_the_line_in_front_of_them(fixed: FixResult) -> None:
    diff = "--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,3 @@\n import torch\n+torch.cuda.set_device(1)\n x = 1\n"
    made = replace(fixed, fixes=(replace(fixed.fixes[0], diff=diff),))
    _, properties, data = read(github.render_fix(made).splitlines(keepends=True)[1])
    assert (properties["line"], properties["endLine"]) == ("1", "1")
    assert data.endswith("```suggestion\nimport torch\ntorch.cuda.set_device(1)\n```")


def test_a_diff_is_read() -> None:
    diff = (
        "--- a/t.py\n+++ b/t.py\n@@ -1,5 +1,4 @@\n a\n-b\n--- c\n+B\n d\n-e\n+E\n"
        "@@ -20,0 +20,1 @@\n+new\n--- a/u.py\n+++ b/u.py\n@@ -1 +1 @@\n-x\r\n+y\r\n\\ No newline at end of file\n"
    )
    assert list(replaced(diff)) == [
        Replaced("t.py", 2, 2, ("b", "-- c"), ("B",), "a"),
        Replaced("t.py", 5, 4, ("e",), ("E",), "d"),
        Replaced("t.py", 21, 20, (), ("new",), None),
        Replaced("u.py", 1, 1, ("x",), ("y",), None),
    ]


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [("f(a)", "f(a.b)", ("", ".b")), ("aa", "aaa", ("", "a")), ("x", "x", ("", "")), ("", "y", ("", "y"))],
)
def test_what_differs_of_two_lines(before: str, after: str, parts: tuple[str, str]) -> None:
    old, new = changed_part(before, after)
    assert (before[old], after[new]) == parts
