"""From a matrix to its cells."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.errors import DevsanError
from devsan.sweep.cell import Cell
from devsan.sweep.definition import Definition
from devsan.sweep.matrix import axes_of, cells_of, check_interpreters, selected

Sweep = Callable[[str], Definition]


def cells(definition: Definition) -> list[Cell]:
    return cells_of(definition, axes_of(definition))


def test_the_last_axis_changes_first(sweep: Sweep) -> None:
    found = cells(sweep('command = "train.py {rate} {gpus}"\n[matrix]\ngpus = [2, 4]\nrate = [0.1, true]\n'))
    assert [cell.name for cell in found] == [
        "gpus=2 rate=0.1",
        "gpus=2 rate=true",
        "gpus=4 rate=0.1",
        "gpus=4 rate=true",
    ]
    assert found[1].words == ("train.py", "true", "2") and found[2].options.gpus == (None,) * 4


def test_every_sort_of_axis(sweep: Sweep) -> None:
    [cell, *others] = cells(
        sweep(f"""\
command = ["-m", "train", "{{device_map}}"]
environment = {{ FIXED = "a", MAP = "{{device_map}}" }}
options = {{ history = "1MiB" }}
[matrix]
device_map = [{{ "layers.0" = 0 }}]
profile = ["l4-24g"]
memory = [["1GiB", "2GiB"]]
python = ["{sys.executable}"]
[matrix.environment]
SEED = [1, 2]
""")
    )
    given = json.dumps({"layers.0": 0})
    assert cell.words == ("-m", "train", given) and cell.python == sys.executable
    assert dict(cell.environment) == {"FIXED": "a", "MAP": given, "SEED": "1"}
    assert dict(cell.fixed) == {"FIXED": "a", "SEED": "1"}
    assert cell.options.memory == (1 << 30, 2 << 30) and cell.options.history == 1 << 20
    assert cell.name == "SEED=1", "what all cells share is not repeated"
    assert len(others) == 1 and others[0].key != cell.key
    job = cell.job("/x", {"SEED": "0", "HOME": "/root"})
    assert job.environment["SEED"] == "1" and job.environment["HOME"] == "/root" and job.python == sys.executable


def test_values_of_a_file_and_of_a_command(sweep: Sweep, tmp_path: Path) -> None:
    tmp_path.joinpath("names.txt").write_text("# two\nA\n\n B \n", encoding="utf-8")
    definition = sweep("""\
command = "train.py {one} {two}"
[matrix]
one = { file = "names.txt" }
two = { command = ["python", "-c", "print(1); print(2); print(1)"] }
""")
    assert axes_of(definition) == {"one": ("A", "B"), "two": ("1", "2")}


def test_what_is_left_out_and_the_baseline(sweep: Sweep) -> None:
    found = cells(sweep("""\
command = "train.py {map}"
exclude = [{ gpus = [2, 3], map = "b" }]
baseline = { gpus = 1 }
[matrix]
gpus = [1, 2, 3]
map = ["a", "b"]
"""))  # fmt: skip
    assert [cell.name for cell in found] == ["gpus=1 map=a", "gpus=1 map=b", "gpus=2 map=a", "gpus=3 map=a"]
    assert found[0].baseline is None
    assert found[2].baseline is not None and found[2].baseline.key == found[0].key


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gpu = [2]", "expected {gpu} in the command or the environment, got no use of this axis; did you mean gpus?"),
        ("gpus = [2]\nprofile = ['a100']",
         "a GPU profile (devsan profiles lists them), got 'a100'; did you mean a100-80g? (at gpus=2 profile=a100)"),
        ("gpus = [2]\nmemory = [['1GiB', '1GiB', '1GiB']]",
         "expected one size for memory, or one for each of 2 GPUs, got 3 sizes (at gpus=2 memory=1GiB,1GiB,1GiB)"),
        ("gpus = ['real']", "expected emulated GPUs, on which alone cells run, got gpus = real"),
        ("gpus = 2", "expected a list of values for gpus, got 2; did you mean gpus = [2]?"),
        ("gpus = []", "expected at least one value for gpus, got none"),
        ("gpus = [1979-05-27]", "expected texts, numbers, lists or tables as values of gpus, got datetime.date"),
        ("gpus = { fil = 'a' }", "expected gpus as a list, or with file or command, got 'fil'; did you mean file?"),
        ("gpus = { file = 'none.txt' }", "expected a file with the values of gpus, got '*none.txt': No such file"),
        ("gpus = { command = 'python -c 1/0' }",
         "expected a command that prints the values of gpus, got python -c 1/0: ZeroDivisionError: division by zero"),
        ("gpus = [2]\npython = ['no-such-python']",
         "expected an interpreter or a virtual environment, got 'no-such-python'"),
        ("gpus = [2]\nenvironment = { gpus = [1] }", "expected axes with different names, got gpus twice"),
        ("environment = 1", "expected matrix.environment as a table, got 1; did you mean [matrix.environment]?"),
        ("gpus = [2]\n[baseline]\ngpu = 1", "expected an axis (gpus) in baseline, got 'gpu'; did you mean gpus?"),
        ("gpus = [2]\n[[exclude]]\ngpus = 2", "expected at least one cell, got none: all are excluded"),
        ("gpus = [2]\n[options]\npolcy = 'warn'", "got 'polcy'; did you mean policy?"),
    ],
)  # fmt: skip
def test_what_is_not_understood(sweep: Sweep, text: str, sentence: str) -> None:
    with pytest.raises(DevsanError) as caught:
        cells(sweep(f'command = "train.py"\n[matrix]\n{text}\n'))
    assert re.search(re.escape(sentence).replace(r"\*", ".*"), str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("tain.py", "got 'tain.py'"), ("python train.py", "got 'python'; did you mean command without it?"),
        ("sh x.sh", "got 'sh'; did you mean -- sh?"), ("-m", "expected a program after -m in command, got nothing"),
    ],
)  # fmt: skip
def test_a_program_that_is_not_there(sweep: Sweep, command: str, sentence: str) -> None:
    with pytest.raises(DevsanError, match=re.escape(sentence)):
        cells(sweep(f'command = "{command}"\n[matrix]\ngpus = [2]\n'))


def test_only_some_cells(sweep: Sweep) -> None:
    found = cells(
        sweep('command = "train.py {model}"\n[matrix]\ngpus = [2, 4]\nmodel = ["BertModel", "BertHead", "T5"]\n')
    )
    assert [cell.name for cell in selected(found, ["model=Bert*", "gpus=4"])] == [
        "gpus=4 model=BertModel", "gpus=4 model=BertHead"
    ]  # fmt: skip
    assert len(selected(found, ["gpus=2", "gpus=4"])) == 6
    for text, sentence in (("modl=T5", "got 'modl=T5'; did you mean model=?"), ("gpus=3", "got gpus=3")):
        with pytest.raises(DevsanError, match=re.escape(sentence)):
            selected(found, [text])


def test_an_interpreter_without_what_is_needed(sweep: Sweep, tmp_path: Path) -> None:
    definition = sweep('command = "train.py"\npreload = ["no_such_module"]\n[matrix]\ngpus = [2]\n')
    with pytest.raises(DevsanError, match=f"^expected no_such_module to be installed for {sys.executable}, got none$"):
        check_interpreters(cells(definition), definition)


def test_a_cell_keeps_its_key(sweep: Sweep) -> None:
    one, two = (cells(sweep(f'command = "train.py"\ntimeout = {time}\n[matrix]\ngpus = [2]\n')) for time in (1, 2))
    assert one[0].key == two[0].key, "limits do not decide what runs"


def test_a_slip_in_the_command_is_named(sweep: Sweep) -> None:
    sentence = "expected {mode} in the command or the environment, got {moed}; did you mean {mode}?"
    with pytest.raises(DevsanError, match=re.escape(sentence)):
        cells(sweep('command = "train.py {moed}"\n[matrix]\nmode = ["a", "b"]\n'))
