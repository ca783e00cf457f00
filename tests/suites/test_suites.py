"""The tool that runs other projects' tests, over a small suite of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "suites"

# Named as a file of the suite's own list: what is run is the tool, as it is.
TESTS = """
import os
import time
import unittest

import pytest
import torch


class TestHooks(unittest.TestCase):
    def test_gpu(self):
        self.assertEqual(torch.ones(2, device="cuda").sum().item(), 2)

    def test_parts(self):
        for part in range(3):
            with self.subTest(part):
                self.assertNotEqual(part, 1)

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("as it should")


@pytest.mark.parametrize("name", ["one", "two"])
def test_crash(name):
    if name == "one":
        os._exit(7)


def test_long():
    time.sleep(60)


def test_everywhere():
    raise ValueError("no network")


def test_on_a_gpu_only():
    assert not torch.cuda.is_available(), f"there is a GPU at {id(torch):#x}"


def test_hub():
    if torch.cuda.is_available():
        raise OSError("We couldn't connect to 'https://huggingface.co' to load the files")


def test_pipeline_of_the_hub():
    if torch.cuda.is_available():
        raise OSError("Cannot load model tiny/pipe: the model is not fully cached locally (no snapshot)")


def test_skipped():
    pytest.skip("no TPU")
"""


def suites(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, *words], capture_output=True, text=True, timeout=300, check=False, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    file = tmp_path / "checkout" / "tests" / "test_small.py"
    file.parent.mkdir(parents=True)
    file.write_text(TESTS)
    return tmp_path / "checkout"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    file = tmp_path / "accelerate.txt"
    file.write_text(
        "# each with its reason\n"
        "test_small.py::test_crash[one]  ends the process\n"
        "test_small.py::TestHooks.test_par*  one part is bad\n"
    )
    return tmp_path


@pytest.mark.long
@pytest.mark.rare
def test_each_failure_costs_itself_and_only_a_new_one_is_an_error(tmp_path: Path, checkout: Path, known: Path) -> None:
    listed = tmp_path / "failures.txt"
    words = ["accelerate", "--checkout", f"accelerate={checkout}", "--file", "test_small.py", "--known", known]
    run = suites(*words, "--limit", "8", "--list", listed)
    assert run.returncode == 1, run.stderr
    # passed: test_gpu, test_expected, test_crash[two]; known: test_crash[one], test_parts; new: test_on_a_gpu_only
    assert "| test_small.py | 3 | 1 | 2 | 4 | 1 |" in run.stdout
    marks = {line.split()[2]: " ".join(line.split()[:2]) for line in listed.read_text().splitlines()}
    assert marks == {
        "test_small.py::test_crash[one]": "known crashed",
        "test_small.py::TestHooks.test_parts": "known failed",
        "test_small.py::test_everywhere": "environment failed",
        "test_small.py::test_long": "environment timeout",
        "test_small.py::test_hub": "environment failed",
        "test_small.py::test_pipeline_of_the_hub": "environment failed",
        "test_small.py::test_on_a_gpu_only": "new failed",
    }
    assert "new: failed test_small.py::test_on_a_gpu_only  AssertionError: there is a GPU" in run.stdout


@pytest.mark.long
def test_known_failures_are_no_error(checkout: Path, known: Path) -> None:
    (known / "accelerate.txt").write_text("test_small.py::*  all of it is known\n")
    words = ["accelerate", "--checkout", f"accelerate={checkout}", "--file", "test_small.py", "--known", known]
    run = suites(*words, "--limit", "8")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| test_small.py | 3 | 1 | 7 | 0 | 0 |" in run.stdout


@pytest.mark.long
def test_a_file_that_cannot_be_imported_is_new(checkout: Path) -> None:
    (checkout / "tests" / "test_small.py").write_text("import torch\nassert not torch.cuda.is_available()\n")
    run = suites("accelerate", "--checkout", f"accelerate={checkout}", "--file", "test_small.py")
    assert run.returncode == 1
    assert "new: failed test_small.py::<file>" in run.stdout


@pytest.mark.long
def test_what_starts_the_suite_again_counts_once(checkout: Path) -> None:
    (checkout / "tests" / "test_small.py").write_text("""
import os, subprocess, sys
def test_one():
    if "AGAIN" not in os.environ:
        again = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        assert subprocess.run(again, env={**os.environ, "AGAIN": "1"}).returncode is not None
def test_two():
    assert "AGAIN" not in os.environ
""")
    run = suites("accelerate", "--checkout", f"accelerate={checkout}", "--file", "test_small.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| together | 2 | 0 | 0 | 0 | 0 |" in run.stdout


@pytest.mark.long
def test_suites_are_found_beside_each_other(checkout: Path, tmp_path: Path) -> None:
    (checkout / "tests" / "test_small.py").write_text("def test_one(): pass\n")
    checkout.rename(tmp_path / "accelerate")
    run = suites("accelerate", "--file", "test_small.py", SUITES=str(tmp_path))
    assert run.returncode == 0, run.stderr
    assert "| together | 1 | 0 | 0 | 0 | 0 |" in run.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["torch"], "the archives of torch have no tests: give a checkout of version"),
        (["accelerate", "--checkout", "accelerate=/nowhere"], "expected a checkout of accelerate with a folder tests/"),
        (["accelerate", "--checkout", "acelerate=/nowhere"], "expected a name of accelerate, peft, lightning, torch"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(words: list[str], sentence: str, tmp_path: Path) -> None:
    run = suites(*words, "--folder", tmp_path, SUITES="")
    assert run.returncode == 2
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


def test_a_known_failure_without_a_reason_is_refused(checkout: Path, known: Path) -> None:
    (known / "accelerate.txt").write_text("test_small.py::test_long\n")
    words = ["accelerate", "--checkout", f"accelerate={checkout}", "--file", "test_small.py", "--known", known]
    run = suites(*words)
    assert run.returncode == 2
    assert "accelerate.txt:1: expected a pattern and a reason" in run.stderr


@pytest.mark.parametrize("name", ["accelerate", "peft", "lightning", "torch"])
def test_the_known_failures_of_each_suite_are_of_its_files(name: str) -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import suite, known\n"
        "one = suite.SUITES[sys.argv[2]]\n"
        "lines = known.read_known(suite.KNOWN / (one.name + '.txt'))\n"
        "print(json.dumps([one.files, [each.pattern for each in lines]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, TOOL, name], capture_output=True, text=True, check=True)
    files, patterns = json.loads(done.stdout)
    assert [each for each in patterns if each.partition("::")[0] not in files] == []
