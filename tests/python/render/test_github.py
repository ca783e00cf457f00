"""Annotations for GitHub Actions."""

from __future__ import annotations

import copy
import re

from devsan.render import github

LINE = re.compile(r"::(?P<level>error|warning) (?P<properties>[^:]*)::(?P<data>.*)\n")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """As the runner reads it: actions/runner, ActionCommand.cs."""
    match = LINE.fullmatch(line)
    assert match is not None, line
    properties = dict(pair.split("=", 1) for pair in match["properties"].split(","))
    for escaped, plain in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        properties = {name: value.replace(escaped, plain) for name, value in properties.items()}
    data = match["data"].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    return match["level"], properties, data


def test_a_finding(failed):
    level, properties, data = read(github.render([failed.run]))
    assert level == "error"
    assert properties == {
        "file": "program.py", "line": "8", "endLine": "8", "col": "5", "endColumn": "5",
        "title": "DV102 fresh-tensor",
    }  # fmt: skip
    lines = data.splitlines()
    assert lines[0] == "operands of aten::add are on cuda:0 and cuda:1"
    assert lines[1].startswith("Expected all tensors to be on the same device")
    assert "a was placed on cuda:0 by this program (program.py:3)" in lines
    assert lines[-1] == "more: devsan explain DV102"


def test_escapes(failed):
    run = copy.deepcopy(failed.run)
    finding = run["findings"][0]
    finding["name"] = "a,b:c%d"
    finding["headline"] = "100%\r\n::error::gone"
    text = github.render([run])
    assert text.count("\n") == 1
    _, properties, data = read(text)
    assert properties["title"] == "DV102 a,b:c%d"
    assert data.startswith("100%\r\n::error::gone\n")


def test_paths_are_those_of_the_workspace(failed, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(failed.folder.resolve().parent))
    _, properties, _ = read(github.render([failed.run]))
    assert properties["file"] == f"{failed.folder.name}/program.py"


def test_a_library_is_shown_where_the_program_calls_it(failed):
    run = copy.deepcopy(failed.run)
    own = run["findings"][0]["sites"][0]
    library = {**own, "file": "lib/a.py", "path": "/v/site-packages/lib/a.py", "line": 99, "labels": [], "lines": []}
    run["findings"][0]["sites"] = [library, own]
    _, properties, _ = read(github.render([run]))
    assert (properties["file"], properties["line"]) == ("program.py", "8")


def test_code_without_a_file(failed):
    run = copy.deepcopy(failed.run)
    run["findings"][0]["sites"] = [{**run["findings"][0]["sites"][0], "path": "<string>", "file": "<string>"}]
    _, properties, _ = read(github.render([run]))
    assert properties == {"title": "DV102 fresh-tensor"}


def test_ranks_that_share_a_finding_have_one_annotation(failed):
    assert github.render([failed.run, failed.run]).count("::error ") == 1


def test_at_the_failure(programs):
    from recorded_runs import FAILS

    _, out, error = programs.run(FAILS, "--format", "github")
    assert out == ""
    assert "\nerror[DV102]" in error
    _, properties, _ = read(error.splitlines(keepends=True)[-1])
    assert (properties["file"], properties["line"]) == ("program.py", "8")
