"""Jobs of several ranks under torchrun: on emulated GPUs over nccl, and the same on plain CPU over gloo.

A job runs many cases (tests/frameworks/jobs), since the imports of a rank take longer than most of them. What was
compared stands in docs/reference/frameworks.md; `make frameworks` writes its table.
"""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

JOBS = Path(__file__).parent / "jobs"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "frameworks.md"
ABOUT = 1e-6
ENDS_AFTER = 600  # seconds: a job that hangs ends with its test; on a busy machine one that does not takes minutes

_SET_BY_JOBS = (
    "DEVSAN_OPTIONS",
    "DEVSAN_JOB",
    "CUDA_VISIBLE_DEVICES",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "MASTER_PORT",
)


@dataclass
class Ended:
    """A job that is over."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def prose(self) -> str:
        """stderr without its line breaks."""
        return " ".join(self.err.split())


def start(words: Sequence[str], folder: Path, limit: float = ENDS_AFTER, **environment: str) -> Ended:
    """Runs a command to its end. At the limit it is killed with all that it has started, and the test fails."""
    kept = {name: text for name, text in os.environ.items() if name not in _SET_BY_JOBS}
    kept |= {
        "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "DEVSAN_LANG": "en",
        "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "120", **environment,
    }  # fmt: skip
    began = time.monotonic()
    with subprocess.Popen(
        words, cwd=folder, env=kept, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            kill_tree(process.pid)
            out, err = process.communicate()
            pytest.fail(f"expected an end within {limit} s, got none\n{out[-2000:]}\n{err[-6000:]}")
    return Ended(process.returncode, out, err, time.monotonic() - began)


def kill_tree(pid: int) -> None:
    """Kills a process and all below it. Its group is not enough: torchrun gives each rank a session of its own."""
    import psutil

    started = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def torchrun(ranks: int) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]


_TORN_DOWN = "terminate called without an active exception"
"""A thread of torch's that still ran: seen once in a while on a busy machine, on the CPU and without DevSan."""

Records = list[dict[str, dict[str, Any]]]
Job = Callable[..., Records]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Returns a function that runs cases in so many ranks: what each left, by rank and case."""

    def run(cases: Sequence[str], device: str = "cuda", ranks: int = 2, gpus: int = 4) -> Records:
        import torch

        devsan = [sys.executable, "-m", "devsan", "run", "--gpus", str(gpus), "--"] if device == "cuda" else []
        words = [*devsan, *torchrun(ranks), str(JOBS / "run.py"), device, str(tmp_path), *cases]
        ended = start(words, tmp_path)
        if not devsan and _TORN_DOWN in ended.err:
            ended = start(words, tmp_path)
        assert ended.code == 0, f"{device}: ended with {ended.code}\n{ended.out[-2000:]}\n{ended.err[-8000:]}"
        assert "error[DV" not in ended.err, f"expected no finding in a job that is right\n{ended.err[-6000:]}"
        files = [tmp_path / f"{device}-{rank}.pt" for rank in range(ranks)]
        return [torch.load(file, weights_only=False) for file in files]

    return run


@pytest.fixture
def equal(job: Job, record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Returns a function that runs cases on both, and finds in every rank what it has on the CPU.

    ``about`` names the cases that need not agree to the last bit, and the largest difference that each may have,
    relative to the norm of what was expected.
    """

    def run(cases: Sequence[str], about: Mapping[str, float] | None = None, ranks: int = 2, gpus: int = 4) -> None:
        expected, got = (job(cases, device, ranks, gpus) for device in ("cpu", "cuda"))
        wrong = []
        for case in cases:
            assert any(list(leaves(record[case])) for record in expected), f"{case} left nothing to compare"
            try:
                far = max(distance(expected[rank][case], got[rank][case]) for rank in range(ranks))
            except AssertionError as error:
                wrong.append(f"{case}: {error}")
                continue
            if far > (about or {}).get(case, 0.0):
                wrong.append(f"{case}: differs by {far:.2g}")
            record_property("framework", [case, ranks, far])
        assert not wrong, "\n".join(wrong)

    return run


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def distance(expected: Any, got: Any) -> float:
    """The largest difference of two tensors or numbers, relative to the norm of the expected one; 0 for equal bits."""
    import torch

    there, here = dict(leaves(expected)), dict(leaves(got))
    assert there.keys() == here.keys(), f"expected {sorted(there)}, got {sorted(here)}"
    worst = 0.0
    for path, value in there.items():
        other = here[path]
        if isinstance(value, float):
            value, other = torch.tensor(value, dtype=torch.double), torch.tensor(other, dtype=torch.double)
        if not isinstance(value, torch.Tensor):
            assert value == other, f"expected {path} to be {value!r}, got {other!r}"
            continue
        shapes = [(tuple(t.shape), t.dtype) for t in (value, other)]
        assert shapes[0] == shapes[1], f"expected {path} as {shapes[0]}, got {shapes[1]}"
        assert bool(torch.isfinite(value.double()).all()), f"{path} is not finite on the CPU"
        assert bool(torch.isfinite(other.double()).all()), f"{path} is not finite on emulated GPUs"
        if not torch.equal(value, other):
            far = (value.double() - other.double()).norm() / value.double().norm().clamp_min(1e-30)
            worst = max(worst, float(far))
    return worst


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Counts what was compared; with --bless, writes the table."""
    rows = [
        tuple(value)
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", ())
        if name == "framework"
    ]
    if not rows:
        return
    same = sum(far == 0 for _, _, far in rows)
    about = len(rows) - same
    line = f"frameworks: {len(rows)} cases, {same} equal to the CPU's to the last bit, {about} within their tolerance"
    terminalreporter.write_line(line)
    if config.getoption("--bless"):
        write_table(rows, line)


def write_table(rows: Sequence[tuple[str, int, float]], line: str) -> None:
    """Replaces what stands between the page's two marks."""
    told = {module.stem: _says(module) for module in JOBS.glob("*_cases.py")}
    lines = [f"{line}.", "", "| job | case | what | ranks | equal |", "|---|---|---|---|---|"]
    for name, ranks, far in sorted(rows):
        module, _, case = name.partition(":")
        how = "to the last bit" if far == 0 else f"{far:.0e} relative"
        title = module.removesuffix("_cases").replace("_", " ")
        lines.append(f"| {title} | {case.replace('_', ' ')} | {told[module].get(case, '')} | {ranks} | {how} |")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- cases -->\n")
    _, _, after = rest.partition("<!-- end of cases -->")
    PAGE.write_text(
        f"{before}<!-- cases -->\n" + "\n".join(lines) + f"\n<!-- end of cases -->{after}", encoding="utf-8"
    )


def _says(module: Path) -> dict[str, str]:
    """The first sentence of each case's docstring."""
    functions = [
        node for node in ast.parse(module.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    ]
    docs = {node.name: " ".join((ast.get_docstring(node) or "").split()) for node in functions}
    return {name: text.partition(". ")[0].rstrip(".") for name, text in docs.items()}
