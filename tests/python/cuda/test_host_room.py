"""The bytes of emulated GPUs lie in the machine's memory: one warning before it is full, and a sentence where it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import programs
import pytest

pytest.importorskip("torch")

# The limit leaves 1 GiB of addresses beside what torch has taken: as ulimit -v.
LIMITED = """
import resource
import torch

torch.ones(8, device="cuda")
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
TOTAL = used + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (TOTAL, resource.RLIM_INFINITY))
"""


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(LIMITED + text, encoding="utf-8")
    words = ["-m", "devsan", "run", "--gpus", "1", "--lang", "en", "program.py"]
    done: subprocess.CompletedProcess[str] = programs.run(words, cwd=folder)
    return done


@pytest.mark.parametrize(
    "made",
    ["torch.empty(64 << 20, device='cuda')", "start + start"],
    ids=["a factory", "the result of an operator"],
)
def test_what_is_not_left_is_refused_with_a_sentence(made: str, tmp_path: Path) -> None:
    done = run(f"start = torch.ones(16 << 20, device='cuda')\nkept = [{made} for _ in range(40)]\n", tmp_path)
    assert done.returncode == 1, done.stderr
    last = next(line for line in done.stderr.splitlines() if line.startswith("RuntimeError"))
    found = re.match(
        r"RuntimeError: devsan: expected ([\d.]+) MiB of host memory for a tensor on an emulated GPU, got ([\d.]+) MiB "
        r"left of [\d.]+ GiB \(ulimit -v\); the emulated GPUs hold [\d.]+ [MG]iB\. Run with --full-size",
        last,
    )
    assert found is not None, last
    assert float(found[1]) > float(found[2])


def test_one_warning_where_it_is_nearly_full(tmp_path: Path) -> None:
    text = """
resource.setrlimit(resource.RLIMIT_AS, (used + used // 3, resource.RLIM_INFINITY))
kept = []
while True:
    try:
        kept.append(torch.empty(4 << 20, device="cuda"))
    except RuntimeError as error:
        assert str(error).startswith("devsan: expected 16.00 MiB"), error
        break
held = sum(each.nbytes for each in kept)
print("nearly all" if held > 0.8 * (used // 3) else held)
"""
    done = run(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "nearly all\n", "the room is used"
    [warning] = [line for line in done.stderr.splitlines() if "warning" in line]
    assert re.fullmatch(
        r"devsan: warning: host memory is nearly full: [\d.]+ MiB left of [\d.]+ [MG]iB \(ulimit -v\); the emulated "
        r"GPUs hold [\d.]+ [MG]iB, this process [\d.]+ [MG]iB\. Run with --full-size, where large tensors take no "
        r"memory, or run a smaller model "
        r"or batch, fewer steps, or fewer ranks",
        warning,
    )


def test_tensors_of_the_program_are_told_and_never_refused(tmp_path: Path) -> None:
    done = run("layers = [torch.ones(4 << 20) for _ in range(56)]\nmore = torch.empty(1 << 40, dtype=torch.uint8)\n",
               tmp_path)  # fmt: skip
    [warning] = [line for line in done.stderr.splitlines() if "warning" in line]
    assert re.search(r"nearly full: .*; the emulated GPUs hold 0 bytes, this process [\d.]+ [MG]iB\. Run with "
                     "--full-size", warning), warning  # fmt: skip
    assert "can't allocate memory: you tried to allocate 10995116" in done.stderr, "torch's own words"


def test_a_gpu_that_is_full_is_told_first(tmp_path: Path) -> None:
    done = run("torch.empty(200 << 30, device='cuda')\n", tmp_path)
    assert "torch.OutOfMemoryError: CUDA out of memory" in done.stderr
    assert "host memory" not in done.stderr
