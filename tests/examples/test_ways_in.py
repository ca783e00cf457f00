"""The ways into an emulation run the same script, unedited, to the same end."""

from __future__ import annotations

import functools
import os
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import programs
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "model_parallel.py"
IN_PYTHON = f"""
import runpy, torch, devsan
assert torch.cuda.device_count() == 0
with devsan.emulate(gpus=2):
    runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
assert torch.cuda.device_count() == 0
"""


def finish(done) -> str:
    assert done.returncode == 0, done.stderr
    assert "front cuda:0 back cuda:1" in done.stdout
    return re.search(r"losses .*", done.stdout)[0]


@pytest.fixture
def run(run):
    """Nothing is there of torch or DevSan before a program begins."""
    return functools.partial(run, afresh=True)


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> str:
    done = programs.run([EXAMPLE], cwd=tmp_path_factory.mktemp("expected"))
    assert "front cpu back cpu" in done.stdout, done.stderr
    return re.search(r"losses .*", done.stdout)[0]


@pytest.mark.parametrize(
    "words",
    [
        ("--gpus", "2", str(EXAMPLE)),
        ("--gpus", "2:t4-16g", "-m", "model_parallel"),
        ("--gpus", "a100-80g,l4-24g", "-c", f"import runpy; runpy.run_path({str(EXAMPLE)!r})"),
    ],
    ids=["script", "module", "code"],
)
@pytest.mark.long
def test_devsan_run(run, expected, words):
    # EXAMPLE's folder for -m; what else was on the path stays, DevSan may be there.
    path = os.pathsep.join([str(EXAMPLE.parent), os.environ.get("PYTHONPATH", "")])
    assert finish(run("-m", "devsan", "run", *words, PYTHONPATH=path)) == expected


@pytest.mark.long
def test_emulate_in_python(run, expected):
    assert finish(run("-c", IN_PYTHON)) == expected


JOINING = """
import torch, devsan
for _ in range(2):
    with devsan.emulate(gpus=2):
        x = torch.ones(2, device="cuda:1")
    print(torch.cuda.device_count(), x.sum().item())
"""


@pytest.mark.long
def test_emulate_under_devsan_run_joins_its_gpus(run):
    done = run("-m", "devsan", "run", "--gpus", "2", "-c", JOINING)
    assert (done.returncode, done.stdout) == (0, "2 2.0\n" * 2), done.stderr
    assert "not used" not in done.stderr
    done = run("-m", "devsan", "run", "--gpus", "2", "-c", JOINING.replace("gpus=2", "gpus=2, policy='warn'"))
    assert "devsan.emulate joins the GPUs that are emulated already; not used: policy" in done.stderr
    done = run("-m", "devsan", "run", "--gpus", "3", "-c", JOINING)
    assert done.returncode == 1
    assert "expected no emulation in this process, got one of 3 GPUs" in done.stderr


@pytest.fixture
def installed() -> None:
    if not entry_points(group="torch.backends", name="devsan"):
        pytest.skip("DevSan is on the path but not installed: torch finds no entry point of it")


@pytest.mark.usefixtures("installed")
def test_variable_in_the_environment(run, expected):
    assert finish(run(str(EXAMPLE), DEVSAN_OPTIONS="gpus=2:memory=1GiB")) == expected


@pytest.mark.usefixtures("installed")
@pytest.mark.long
def test_any_command(run, expected):
    assert finish(run("-m", "devsan", "run", "--gpus", "2", "--", sys.executable, str(EXAMPLE))) == expected
