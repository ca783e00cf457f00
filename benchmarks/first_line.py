"""How long after an error the first line of its report is there, finding the cause and the lines of source included.

Each in a new Python, because what a report imports counts. From the moment in which Python would call the excepthook to
the first character on stderr, which is the report's whole text.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from table import Row

ROUNDS = 5
GOAL = 0.1
FILES = 10_000

TIMED = """
import io, sys, time

class Stream(io.StringIO):
    first = None
    def write(self, text):
        if self.first is None:
            self.first = time.perf_counter()
        return super().write(text)

def report(kind, error, trace):
    stream, begin = Stream(), time.perf_counter()
    from devsan.error_report import on_exception
    on_exception(kind, error, trace, stream)
    print("error[DV" in stream.getvalue(), stream.first - begin)

sys.excepthook = report
"""

SMALL = """
import torch

def project(hidden, weight):
    return hidden @ weight

project(torch.ones(3, 4, device="cuda:1"), torch.ones(4, 5))
"""

REAL = """
import torch

def add(hidden, mask):
    return hidden + mask

add(torch.ones(3, 4), torch.ones(3, 4, device="meta"))
"""

TRANSFORMERS = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=32, num_attention_heads=2)
model = LlamaForCausalLM(config).to("cuda:0")
model.model.layers[1].mlp.to("cuda:1")

def step(frames, ids):
    return step(frames - 1, ids) if frames else model.generate(ids, max_new_tokens=2)

step(80, torch.zeros(1, 4, dtype=torch.long, device="cuda:0"))
"""

ATTENTION = """
import torch

attention = torch.nn.MultiheadAttention(4, 2).to("cuda:1")
attention.out_proj.to("cuda:0")
hidden = torch.zeros(3, 1, 4, device="cuda:1")
attention(hidden, hidden, hidden)
"""

# A main function as scripts grow them: assignments, loops and moves, one after the other.
PART = """
    batch_{n} = {{"x": torch.ones(3, 4), "y": torch.ones(3)}}
    for key in batch_{n}:
        batch_{n}[key] = batch_{n}[key].to(device)
    hidden_{n} = batch_{n}["x"] * {n}
    total_{n} = hidden_{n}.sum() + batch_{n}["y"].sum()
    if total_{n} > 10:
        hidden_{n} = hidden_{n} / total_{n}
"""
LONG = """
import torch

def main(device):
{parts}
    weight = torch.ones(4, 5)
    return hidden_{last} @ weight

main("cuda:1")
"""
PARTS = 300

CROWD = """
import sys
sys.path.insert(0, {folder!r})
import importlib
for number in range({files} // 2):
    importlib.import_module(f"crowd.module_{{number}}")
"""


def crowd(folder: Path) -> str:
    """Writes a package of so many files, and returns the code that imports half of them."""
    package = folder / "site-packages" / "crowd"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for number in range(FILES):
        (package / f"module_{number}.py").write_text(f"def function(value):\n    return value + {number}\n")
    return CROWD.format(folder=str(package.parent), files=FILES)


def first_line(code: str, gpus: str, folder: Path) -> float | str:
    """Returns the seconds, or what went wrong."""
    file = folder / "program.py"
    file.write_text(TIMED + code, encoding="utf-8")
    kept = {
        name: text for name, text in os.environ.items() if name not in ("DEVSAN_OPTIONS", "PYTHONDONTWRITEBYTECODE")
    }
    done = subprocess.run(
        [sys.executable, "-m", "devsan", "run", "--gpus", gpus, str(file)],
        cwd=folder,
        env={**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    words = done.stdout.split()
    if words[:1] != ["True"]:
        return (done.stderr.strip().splitlines() or [done.stdout.strip() or "no report"])[-1]
    return float(words[1])


def cases(folder: Path) -> Iterator[tuple[str, str, str]]:
    yield "a program of one file", SMALL, "2"
    yield "the same with --gpus real: the core is loaded for it", REAL, "real"
    yield "a hundred frames, through transformers", TRANSFORMERS, "2"
    yield "inside torch, in a function of 700 lines", ATTENTION, "2"
    parts = "".join(PART.format(n=number) for number in range(PARTS))
    yield "a function of 2,100 lines", LONG.format(parts=parts, last=PARTS - 1), "2"
    yield f"a program of one file among {FILES:,} of which half are imported", crowd(folder) + SMALL, "2"


def measure() -> list[Row] | str:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, code, gpus in cases(folder):
            seconds = []
            for turn in range(ROUNDS + 1):
                took = first_line(code, gpus, folder)
                if isinstance(took, str):
                    return f"first_line: failed; {label}: {took}"
                if turn:  # the first one writes the bytecode
                    seconds.append(took)
            took = statistics.median(seconds)
            rows.append(Row(f"first line of a report: {label}", took, difference=took, goal=GOAL))
    return rows
