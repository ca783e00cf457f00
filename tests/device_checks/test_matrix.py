"""The generated matrix: every aten operator with two tensor operands or more, each operand in turn on another device.

What CUDA says comes from an oracle that shares nothing with DevSan's core (tests/device_checks/matrix): torchgen's own
generator, run for CUDA; torch's own C++ meta functions and composites, run on tensors that only say they are on a GPU;
and a table of special cases with their places in PyTorch's source. It runs in a process of its own, without emulation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from matrix import outcomes
from matrix.samples import load, wanted
from matrix.schema import name_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
# In `make device-checks` more of torch's samples are run for each of its entries, so that more operators have a call.
WHOLE = os.environ.get("DEVSAN_DEVICE_CHECKS") == "whole"
KNOWN = tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("oracle")
    samples, expected = folder / "samples.pt", folder / "expected.json"
    command = ["-m", "matrix.expectations", "--samples", samples, "--out", expected, "--most", "6" if WHOLE else "1"]
    environment = {**os.environ, "DEVSAN_AUTOLOAD": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, command)],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return samples, expected


@pytest.mark.long
def test_every_operator_checks_devices_as_cuda_does(oracle: tuple[Path, Path]) -> None:
    calls, expected = load(oracle[0]), json.loads(oracle[1].read_text(encoding="utf-8"))
    counts, differences = outcomes.compare(calls, expected)
    print(f"{len(calls)} of {len(wanted())} operators, {sum(counts.values())} arrangements: {dict(counts)}")
    known = {d.operator: next((p for p in KNOWN["differ"] if fnmatchcase(d.operator, p)), "") for d in differences}
    unexpected = [d for d in differences if not known[d.operator]]
    assert not unexpected, f"{len(unexpected)} device checks differ from CUDA's\n" + "\n".join(
        map(str, unexpected[:40])
    )
    assert counts["refused"] > 10_000
    assert counts["unknown"] < 0.03 * sum(counts.values())
    if WHOLE:
        missing = {name_of(op) for op in wanted()} - set(calls)
        assert missing <= set(KNOWN["no_sample"]), sorted(missing - set(KNOWN["no_sample"]))
        gone = set(KNOWN["differ"]) - set(known.values())
        assert not gone, f"known.toml lists operators that agree: {sorted(gone)}"
