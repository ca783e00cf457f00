"""The entry point that torch calls in every program: nothing when unset, never an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "cli" / "fakes"


def python(code: str, *path: Path, flags: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEVSAN", "TORCH_", "PYTHON"))}
    kept["PYTHONPATH"] = os.pathsep.join(map(str, [ROOT, *path]))
    return subprocess.run(
        [sys.executable, *flags, "-c", code], env={**kept, **environment}, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder on whose path devsan counts as installed, with the entry point that pip would write."""
    info = tmp_path / "devsan-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: devsan\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ndevsan = devsan.autoload:load\n")
    return tmp_path


# Without the site module: an editable install imports its own import hook there, which is no cost of DevSan's.
BARE = ("-S",)

COUNT = """
import os, sys  # os is there in any other start of Python
before = set(sys.modules)
from devsan.autoload import load
load()
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize("value", [None, "", " "])
def test_unset_imports_nothing(value):
    environment = {} if value is None else {"DEVSAN_OPTIONS": value}
    done = python(COUNT, flags=BARE, **environment)
    assert (done.stdout, done.stderr) == ("['devsan', 'devsan.autoload']\n", "")


def test_import_devsan_is_light():
    done = python("import sys; n = set(sys.modules); import devsan; print(sorted(set(sys.modules) - n))", flags=BARE)
    assert done.stdout == "['devsan']\n"


def test_set_starts_once_and_tells_nothing(tmp_path):
    log = tmp_path / "log"
    done = python(
        "import torch; from devsan.autoload import load; load(); load()",
        FAKES,
        DEVSAN_OPTIONS="gpus=2*l4-24g",
        FAKE_LOG=str(log),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert log.read_text() == "start l4-24g,l4-24g\n"


@pytest.mark.parametrize(
    ("options", "failure", "sentence"),
    [
        (
            "gpu=4",
            "",
            "expected an option (gpus, profile, memory, used-memory, policy, check, history, full-size, real-below, "
            "weights, ranks, format, output, fail-on, error-exitcode, quiet, verbose, force, lang), got 'gpu'; "
            "did you mean 'gpus'?",
        ),
        ("gpus=4:memory=1GiB,2GiB", "", "expected one size for memory, or one for each of 4 GPUs, got 2 sizes"),
        ("gpus=4", "RuntimeError:torch 9", "DevSan cannot start: RuntimeError: torch 9"),
    ],
)
def test_a_failure_is_one_sentence_and_the_program_goes_on(tmp_path, options, failure, sentence):
    environment = {"FAKE_FAILURE": failure} if failure else {}
    done = python(
        "import torch; print(torch.device('cpu', 0).type)",
        FAKES,
        DEVSAN_OPTIONS=options,
        FAKE_LOG=str(tmp_path / "log"),
        **environment,
    )
    assert (done.returncode, done.stdout) == (0, "cpu\n")
    joined = f"{sentence} The" if sentence.endswith("?") else f"{sentence}; the"
    assert done.stderr == f"devsan: {joined} program continues without emulation (DEVSAN_OPTIONS)\n"


def test_never_raises_even_when_devsan_is_broken():
    """An installation whose modules cannot be imported must not break import torch."""
    for broken in ("devsan.options", "devsan.session", "devsan.errors"):
        done = python(
            f"import sys; sys.modules[{broken!r}] = None\nfrom devsan.autoload import load\nload()\nprint(1)",
            DEVSAN_OPTIONS="gpus=2",
        )
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_without_stderr():
    done = python(
        "import sys; sys.stderr = None\nfrom devsan.autoload import load\nload()\nprint(1)", DEVSAN_OPTIONS="gpus=0"
    )
    assert (done.returncode, done.stdout) == (0, "1\n")


# With the installed torch. No core is needed: unset and refused options end before it.


def test_torch_itself_calls_it_and_unset_costs_two_modules(installed):
    done = python(
        "import sys, torch; print(sorted(name for name in sys.modules if name.startswith('devsan')))", installed
    )
    assert (done.stdout, done.stderr) == ("['devsan', 'devsan.autoload']\n", "")


def test_torch_goes_on_after_a_wrong_option(installed):
    done = python("import torch; print(torch.ones(2).sum().item())", installed, DEVSAN_OPTIONS="gpus=0")
    assert (done.returncode, done.stdout) == (0, "2.0\n")
    assert done.stderr == (
        "devsan: expected 1 to 64 GPUs, got 0; the program continues without emulation (DEVSAN_OPTIONS)\n"
    )


def test_torchs_switch_turns_it_off(installed):
    done = python(
        "import sys, torch; print('devsan' in sys.modules)",
        installed,
        DEVSAN_OPTIONS="gpus=0",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
