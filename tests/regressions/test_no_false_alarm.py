"""Programs of several GPUs that work: DevSan has nothing to say, but for an error that one of them catches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WORKING = sorted((HERE / "working").glob("*.py"))
ONE_AFTER_ANOTHER = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
import torch, devsan
for program in sys.argv[1:]:
    runpy.run_path(program, run_name="__main__")
    assert not devsan.findings(), (program, devsan.findings())
print("worked", len(sys.argv) - 1)
"""


def test_nothing_is_said_of_programs_that_work(tmp_path: Path):
    for library in ("accelerate", "transformers", "peft", "lightning"):
        pytest.importorskip(library)
    script = tmp_path / "all.py"
    script.write_text(ONE_AFTER_ANOTHER)
    kept = {name: value for name, value in os.environ.items() if name not in ("DEVSAN_OPTIONS", "CUDA_VISIBLE_DEVICES")}
    path = os.pathsep.join([str(HERE), *filter(None, [kept.get("PYTHONPATH")])])
    words = [sys.executable, "-m", "devsan", "run", "-q", "--gpus", "2", str(script), *map(str, WORKING)]
    environment = {**kept, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"worked {len(WORKING)}"
    told = [line for line in done.stderr.splitlines() if "devsan" in line or line.startswith("    ")]
    caught = told.pop(1).split()[0] if len(told) == 2 else ""
    assert told == ["devsan: the program caught device errors at 1 place; --policy warn explains them"]
    assert caught.endswith("refused_and_caught.py:7:5")
    assert len(WORKING) >= 10
