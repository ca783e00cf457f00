"""``devsan fix``: how its words are read, and what comes of real searches."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from devsan.cli.fix import FixCommand
from devsan.cli.main import main
from devsan.cli.progress import Progress
from devsan.errors import UsageError

FAILS = """\
import torch
scale = torch.ones(3, device="cuda:0", requires_grad=True)
optimizer = torch.optim.SGD([scale], lr=0.5)
for _ in range(3):
    loss = (torch.arange(3.0, device="cuda:1") * scale).sum()
    loss.backward()
    optimizer.step()
"""
WORKS = "import torch\nprint(torch.ones(3, device='cuda:1').sum())\n"
OF_RANKS = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DistributedDataParallel(torch.nn.Linear(16, 4).cuda())
weights = torch.ones(4, device="cuda:0")
for _ in range(2):
    loss = (model(torch.ones(8, 16).cuda()) * weights).mean()
    loss.backward()
"""
BREAKS = "import torch\ntorch.ones(3, device='cuda:1')\nraise ValueError('no device at all')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEVSAN_OPTIONS", raising=False)
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    return tmp_path


def test_the_help_names_every_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        FixCommand().prepare(["--help"])
    shown = capsys.readouterr().out
    assert left.value.code == 0
    for option in (
        "--diff",
        "--apply",
        "--force",
        "--all",
        "--timeout",
        "--rounds",
        "--jobs",
        "--format",
        "--gpus",
        "--lang",
    ):
        assert f"  {option}" in shown
    assert "--policy" not in shown and "Exit code: 0" in shown and "-- torchrun" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "expected a program to run: script.py, -m module, -c code or -- command, got nothing"),
        ("nothing.py", "expected a script that exists, got 'nothing.py'"),
        ("--policy warn train.py", "^expected devsan fix without --policy: .* a policy of its own, got '--policy'$"),
        ("--full-size train.py", "^expected devsan fix without --full-size: .* by its numbers, .* got '--full-size'$"),
        ("--real-below=1MiB train.py", "^expected devsan fix without --real-below: .*, got '--real-below=1MiB'$"),
        ("--aply train.py", "got '--aply'; did you mean --apply?"),
        ("--format sarif train.py", r"expected a format \(terminal, json, github\), got 'sarif'"),
        ("--format json --diff train.py", "not allowed with argument --format"),
        ("--force train.py", "expected --force with --apply, got --force alone"),
        ("--timeout 0 train.py", "expected a timeout of more than 0 seconds, got 0"),
        ("--rounds 0 train.py", "expected a number of at least 1, got 0"),
        ("--jobs 0 train.py", "expected a number of at least 1, got 0"),
        ("--gpus real train.py", "expected emulated GPUs, on which alone experiments run, got --gpus real"),
        ("-o x.dvs train.py", "got '-o'"),
        ("sh train.py", "did you mean devsan fix -- sh train.py?"),
        ("-- --apply sh", "did you mean devsan fix --apply -- sh?"),
    ],
)
def test_words_that_are_not_understood(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        FixCommand().prepare(shlex.split(words))
    assert re.search(sentence.replace("?", r"\?"), str(caught.value)), str(caught.value)
    assert main(["fix", *shlex.split(words)]) == 2
    assert capsys.readouterr().err.startswith("devsan: expected ")


def test_options_behind_the_program_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FixCommand().prepare(["--gpus", "3", "train.py", "--apply", "--epochs", "1", "--timeout", "60"])
    assert capsys.readouterr().err == (
        "devsan: --apply and --timeout come after train.py and are passed to it; if they are meant for devsan, "
        "run: devsan fix --gpus 3 --apply --timeout 60 train.py --epochs 1\n"
    )


def test_options_of_the_environment_that_are_each_experiments_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVSAN_OPTIONS", "gpus=3:policy=warn:format=json:output=x.json")
    assert callable(FixCommand().prepare(["train.py"]))


class Terminal:
    encoding = "utf-8"

    def __init__(self, is_terminal: bool) -> None:
        self.text, self._is_terminal = "", is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize("language", ["en", "zh"])
def test_progress_on_a_terminal_is_one_line(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal(True)
    progress = Progress(stream, language)  # type: ignore[arg-type]
    progress("reference")
    progress("move `x` " + "very " * 30 + "far")
    progress.close()
    progress.close()
    first, second, last = stream.text.split("\r\x1b[K")[1:]
    assert "\n" not in stream.text and last == ""
    assert first.startswith("devsan: ") and len(second) < 80 and second.endswith("...")
    assert ("experiment 1: " if language == "en" else "第 1 次实验") in second


def test_progress_elsewhere_is_lines() -> None:
    stream = Terminal(False)
    progress = Progress(stream, "en")  # type: ignore[arg-type]
    progress("failure")
    progress("move `x`")
    progress.close()
    assert stream.text == "devsan: running the program as it is\ndevsan: experiment 1: move `x`\n"


@dataclass(frozen=True)
class Command:
    """Runs devsan in a repository that has train.py."""

    folder: Path
    options: str = ""

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("DEVSAN")}
        return subprocess.run(
            [sys.executable, "-m", "devsan", "fix", *words], cwd=self.folder, capture_output=True, text=True,
            env={**environ, "DEVSAN_OPTIONS": self.options, "DEVSAN_LANG": "en", "OMP_NUM_THREADS": "1",
                 "XDG_CACHE_HOME": str(self.folder.parent / "cache")},
            check=False, timeout=300,
        )  # fmt: skip

    def write(self, text: str) -> Path:
        path = self.folder / "train.py"
        path.write_text(text, encoding="utf-8")
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", *words], cwd=self.folder, check=True)
        return path


@pytest.fixture
def devsan(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.long
def test_a_diff_that_git_applies_fixes_the_program(devsan: Command) -> None:
    path = devsan.write(FAILS)
    done = devsan("--diff", "train.py")
    assert done.returncode == 0, done.stderr
    assert path.read_text() == FAILS
    subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=devsan.folder, check=True)
    assert path.read_text() != FAILS
    assert devsan("--format", "github", "train.py").stdout == ""  # nothing fails any more
    again = devsan("--diff", "train.py")
    assert (again.returncode, again.stdout) == (0, ""), "the program is another one by now: what is kept is not taken"
    assert "nothing to fix: the program runs to its end" in again.stderr


@pytest.mark.long
def test_what_was_found_is_not_looked_for_again(devsan: Command) -> None:
    path = devsan.write(FAILS)
    found = devsan("train.py")
    assert "\nfixed: " in found.stdout and "devsan: experiment 1: " in found.stderr
    shown = devsan("--diff", "train.py")
    assert "experiment" not in shown.stderr and shown.stdout.startswith("--- a/train.py\n")
    taken = devsan("--apply", "train.py")
    first, last = taken.stderr.splitlines()
    assert re.fullmatch(r"devsan: the fix that a search has verified [\d.]+\ss ago: .+", first)
    assert (taken.returncode, last) == (0, f"devsan: changed {path}")
    subprocess.run(["git", "apply", "-R", "-"], input=shown.stdout, text=True, cwd=devsan.folder, check=True)
    assert path.read_text() == FAILS


@pytest.mark.long
def test_it_is_applied_and_not_over_what_git_does_not_have(devsan: Command) -> None:
    path = devsan.write(FAILS)
    path.write_text(FAILS + "\n", encoding="utf-8")
    done = devsan("--apply", "train.py")
    assert (done.returncode, path.read_text()) == (1, FAILS + "\n")
    assert done.stderr.startswith("devsan: expected ") and done.stderr.count("\n") == 1, "one sentence, and no search"
    assert done.stdout == ""
    assert "as git has it, got changes that are not committed" in done.stderr
    subprocess.run(["git", "checkout", "-q", "."], cwd=devsan.folder, check=True)
    done = devsan("--apply", "train.py")
    assert done.returncode == 0
    assert done.stderr.endswith(f"devsan: changed {path}\n")
    assert "\nfixed: " in done.stdout and "equal to one device: losses, gradients and weights of 3 steps" in done.stdout
    assert path.read_text() != FAILS


@pytest.mark.parametrize("place", ["pyproject.toml", "DEVSAN_OPTIONS"])
@pytest.mark.long
def test_a_size_that_is_in_force_for_runs_does_not_reach_experiments(devsan: Command, place: str) -> None:
    devsan.write(FAILS.replace("cuda:1", "cuda:0"))
    if place == "DEVSAN_OPTIONS":
        devsan = Command(devsan.folder, "gpus=2:full-size=yes:real-below=8B")
    else:
        table = '[tool.devsan]\ngpus = 2\nfull-size = true\nreal-below = "8B"\n'
        (devsan.folder / place).write_text(table, encoding="utf-8")
    done = devsan("train.py")
    assert done.returncode == 0
    assert done.stdout.startswith("\nnothing to fix: the program runs to its end on these GPUs")


@pytest.mark.long
def test_a_sample_of_the_ranks_of_a_launch(devsan: Command) -> None:
    path = devsan.write(OF_RANKS)
    launch = (sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2", "train.py")
    done = devsan("--gpus", "2", "--ranks", "first,last", "--diff", "--", *launch)
    assert done.returncode == 0, done.stderr
    assert "+weights = torch.ones(4, device=" in done.stdout
    assert path.read_text() == OF_RANKS


def test_nothing_to_fix_and_nothing_of_devices(devsan: Command) -> None:
    devsan.write(WORKS)
    done = devsan("train.py")
    assert done.returncode == 0
    assert done.stdout.startswith("\nnothing to fix: the program runs to its end on these GPUs")
    (devsan.folder / "train.py").write_text(BREAKS, encoding="utf-8")
    done = devsan("--format", "json", "train.py")
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (1, "not fixed")
    assert document["error"] == "ValueError: no device at all (train.py:3)"
