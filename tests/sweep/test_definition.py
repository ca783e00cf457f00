"""Sweep files: what is read, and the sentence about what is not understood."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.errors import DevsanError
from devsan.sweep.definition import Definition, read_definition

Sweep = Callable[[str], Definition]

WHOLE = """\
command = "train.py --map '{device map}'"
preload = []
timeout = 1.5
memory = "2GiB"
jobs = 3
options = { history = "1MiB" }
environment = { A = "1", B = 2 }
exclude = [{ gpus = 2 }]
baseline = { gpus = 1 }
[matrix]
gpus = [2, 4]
"""


def test_everything_that_a_file_may_say(sweep: Sweep, tmp_path: Path) -> None:
    read = sweep(WHOLE)
    assert read.command == ("train.py", "--map", "{device map}") and read.folder == tmp_path
    assert (read.preload, read.timeout, read.memory, read.jobs) == ((), 1.5, 2 << 30, 3)
    assert read.environment == {"A": "1", "B": "2"} and read.matrix == {"gpus": [2, 4]}


def test_what_is_not_said(sweep: Sweep) -> None:
    read = sweep('command = ["train.py"]\n[matrix]\ngpus = [2]\n')
    assert (read.preload, read.timeout, read.memory, read.jobs) == (("torch",), 600.0, 0, 0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("jobs = 3", "job = 3"), "expected a key of a sweep (command, .*), got 'job'; did you mean jobs?"),
        (("jobs = 3", "jobs = "), "expected TOML, got '.*sweep.toml': Invalid value (at line 5, column 8)"),
        (("jobs = 3", "jobs = true"), "expected jobs as a number of cells at once, got True"),
        (("timeout = 1.5", 'timeout = "1h"'), "expected timeout as seconds, more than 0, got '1h'"),
        (("timeout = 1.5", "timeout = 0"), "expected timeout as seconds, more than 0, got 0"),
        (('"2GiB"', '"2"'), "expected a size such as 24GiB or 512MiB, got '2'; did you mean 2GiB?"),
        (('"2GiB"', "2"), "expected memory as a size such as 4GiB, got 2"),
        (("preload = []", 'preload = "torch"'), "expected preload as a list of texts, got 'torch'"),
        (("{ gpus = 1 }", "1"), "expected baseline as a table, got 1; did you mean [baseline]?"),
        (("[{ gpus = 2 }]", "2"), "expected exclude as tables, got 2; did you mean [[exclude]]?"),
        (("B = 2", "B = []"), "expected a text for B in environment, got []"),
        (("command = \"train.py --map '{device map}'\"", ""), "expected command in '.*sweep.toml', got none"),
        (("{device map}'\"", '{device map}"'), "expected the command of the sweep as a shell reads it, got"),
        (("[matrix]\ngpus = [2, 4]", ""), "expected matrix in '.*sweep.toml', got none"),
    ],
)  # fmt: skip
def test_what_is_not_understood(sweep: Sweep, change: tuple[str, str], sentence: str) -> None:
    assert change[0] in WHOLE
    with pytest.raises(DevsanError) as caught:
        sweep(WHOLE.replace(*change))
    pattern = "".join(re.escape(part) for part in re.split(r"(\.\*)", sentence)).replace(r"\.\*", ".*")
    assert re.search(pattern, str(caught.value)), str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DevsanError, match=r"^expected a sweep file, got .*: No such file or directory$"):
        read_definition(str(tmp_path / "none.toml"))
