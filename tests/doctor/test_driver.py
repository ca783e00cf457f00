"""nvidia-smi: whole, older, failing, hanging, missing; stood in for by scripts."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devsan.doctor.driver import ask_driver

ROWS = (
    "0, GPU-aaaa, NVIDIA A100-SXM4-80GB, 00000000:07:00.0, 81920, 3, 8.0, 550.54.15\n"
    "1, GPU-bbbb, NVIDIA GB10, 00000000:0F:00.0, [N/A], [N/A], 12.1, 550.54.15\n"
)
HEAD = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-63\nGPU1\tNV12\t X \t0-63\n\nLegend:\n  X = Self\n"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin{os.pathsep}/usr/bin")

    def write(script: str) -> None:
        file = folder / "nvidia-smi"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    return write


def asked(seconds: float = 10.0):
    with ThreadPoolExecutor(6) as executor:
        return ask_driver(executor, seconds, True)


def answering(query: str) -> str:
    return f"case $1 in --query*) {query};; topo) printf '{TOPOLOGY}';; *) printf '{HEAD}';; esac"


def test_a_driver_that_answers(tool):
    tool(answering(f"printf '{ROWS}'"))
    driver = asked()
    assert (driver.state, driver.version, driver.cuda) == ("ok", "550.54.15", "12.4")
    assert [(gpu.index, gpu.uuid, gpu.memory, gpu.capability) for gpu in driver.gpus] == [
        (0, "GPU-aaaa", 81920, "8.0"), (1, "GPU-bbbb", 0, "12.1"),
    ]  # fmt: skip
    assert [line.split()[0] for line in driver.topology] == ["GPU0", "GPU0", "GPU1"]


def test_a_driver_from_before_compute_cap(tool):
    old = ROWS.replace(" 8.0,", "").replace(" 12.1,", "")
    tool(answering(
        "case $1 in *compute_cap*) echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2;; "
        f"*) printf '{old}';; esac"
    ))  # fmt: skip
    driver = asked()
    assert driver.state == "ok"
    assert [gpu.capability for gpu in driver.gpus] == ["", ""]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
         "Failed to initialize NVML: Driver/library version mismatch"),
        ("echo nothing good >&2; exit 9", "nothing good"),
        ("kill -9 $$", ""),
        ("printf '\\377\\376'; exit 1", "\ufffd\ufffd"),
    ],
)  # fmt: skip
def test_a_driver_that_fails(tool, script, sentence):
    tool(script)
    driver = asked()
    assert (driver.state, driver.sentence) == ("failing", sentence)


def test_no_gpus_and_nonsense(tool):
    tool(answering("echo No devices were found; exit 6"))
    assert (asked().state, asked().gpus, asked().version) == ("ok", (), "550.54.15")
    tool("echo gibberish, and more")
    assert (asked().state, asked().gpus) == ("ok", ())


def test_a_driver_that_hangs_is_left_alone(tool):
    tool("trap '' TERM INT; sleep 30 & wait; sleep 30")
    start = time.monotonic()
    assert asked(0.5).state == "hanging"
    assert time.monotonic() - start < 20  # it would take 30


def test_no_driver(tool, monkeypatch):
    assert asked().state == "absent"
