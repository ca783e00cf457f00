"""How long ``devsan doctor`` takes: before a launch, without torch, and with everything that is installed here."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import Row

ROUNDS = 5

# None in sys.modules is how Python says that a module is not to be found.
RUN = """
import sys
{hide}
from devsan.cli.main import main
sys.exit(main(["doctor", *sys.argv[1:]]))
"""
CONFIGURATION = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": "auto"},
}
LAUNCH = ("--", "torchrun", "--nproc_per_node=4", "train.py")


def run(folder: Path, hide: str, *words: str) -> float:
    """Returns how long one doctor took, start to end."""
    kept = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(hide=hide), *words, "ds_config.json", *LAUNCH],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-500:])
    return time.perf_counter() - begin


def measure() -> list[Row] | str:
    rows = (
        ("devsan doctor without torch", "sys.modules['torch'] = None", (), 1.0),
        ("devsan doctor --fast", "", ("--fast",), 2.0),
        ("devsan doctor with everything", "", (), 4.0),
    )
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ds_config.json").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
        (folder / "train.py").write_text("from transformers import Trainer, TrainingArguments\n", encoding="utf-8")
        for title, hide, words, goal in rows:
            took = statistics.median(run(folder, hide, *words) for _ in range(ROUNDS))
            made.append(Row(title, took, difference=took, goal=goal))
    return made


if __name__ == "__main__":
    for row in measure():
        print(f"{row.name}: {row.took:.2f} s, goal {row.goal:g} s")
