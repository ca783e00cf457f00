"""What DevSan adds to each operator: tiny tensors on the CPU and on an emulated GPU, in turns, in one process.

`make bench` shows the worst operator of each family and of torch's own list. ``operators.py [FAMILY ...]`` prints every
operator, the dearest first; ``operators.py op_db`` all of torch's list.

An operator that has a kernel may cost 1.5 us more; for one that torch composes of several this is divided by their
number. What has no goal, and why, stands in `EXEMPT`.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from in_pairs import Cost, Work, compare
from measure import WorkerError
from operands import Operands
from operator_cases import FAMILIES
from table import Row, in_units

GOAL = 1.5e-6
DEVICES = ("cpu", "cuda:1")
ROUNDS = 41
LISTED = "op_db"  # the name of torch's list, beside the families
SHOWN = 20  # of torch's list
# A call that takes as long as this cannot be told apart to the microsecond: a hundredth of it is let pass.
LONG = 100e-6
NOISE = 0.01
EXEMPT = {
    "cat hundred": "a hundred operands, each of which is looked at",
    "grad of mul and sum": "a GPU's backward pass runs in a thread of its own",
    "tolist": "copies to the host first, which a CPU tensor has no need of",
}


@dataclass(frozen=True)
class Line:
    """One operator: its family, how many kernels it dispatches, and what it took (see `in_pairs.Cost`)."""

    family: str
    operator: str
    kernels: int
    cpu: float
    emulated: float
    added: float
    added_p90: float

    @property
    def of_a_kernel(self) -> float:
        return self.added / max(1, self.kernels)

    @property
    def goal(self) -> float | None:
        if self.operator in EXEMPT:
            return None
        return GOAL + (NOISE * self.cpu / max(1, self.kernels) if self.cpu > LONG else 0.0)

    @property
    def missed(self) -> bool:
        return self.goal is not None and self.of_a_kernel > self.goal

    def __str__(self) -> str:
        times = (self.cpu, self.emulated, self.added, self.added_p90, self.of_a_kernel)
        micros = "".join(f"{time * 1e6:10.2f}" for time in times)
        mark = "  missed" if self.missed else f"  no goal: {EXEMPT[self.operator]}" if self.goal is None else ""
        return f"{self.family:16}{self.operator:44}{micros}{self.kernels:9}{mark}"


HEAD = f"{'family':16}{'operator':44}{'CPU':>10}{'emulated':>10}{'added':>10}{'p90':>10}{'a kernel':>10}{'kernels':>9}"


def kernels_of(work: Work) -> int:
    """Counts the kernels that a work dispatches: the outermost calls of operators that a backend has a kernel for."""
    import torch
    from torch._C._profiler import _ExperimentalConfig
    from torch.autograd.profiler import profile

    def has_kernel(event: Any) -> bool:
        name = f"{event.name}.{event.overload_name}" if event.overload_name else event.name
        try:
            return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
        except RuntimeError:
            return False  # no operator: autograd's nodes are events too

    def count(events: Iterable[Any]) -> int:
        return sum(1 if has_kernel(event) else count(event.cpu_children) for event in events)

    with profile(experimental_config=_ExperimentalConfig(capture_overload_names=True)) as recorded:
        work()
    return count(event for event in recorded.function_events if event.cpu_parent is None)


def works_of(name: str) -> Iterator[tuple[str, tuple[Work, Work]]]:
    """The works of a family, or of torch's list, on either device."""
    if name == LISTED:
        from operator_samples import samples

        yield from samples(DEVICES)
        return
    here, there = (FAMILIES[name](Operands(device)) for device in DEVICES)
    for operator, work in here.items():
        yield operator, (work, there[operator])


def lines(names: list[str]) -> Iterator[Line]:
    """Measures in this process, which must be DevSan's own."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's own notes
    import torch
    from worker import THREADS

    import devsan

    torch.set_num_threads(THREADS)
    warnings.simplefilter("ignore")
    with devsan.emulate(gpus=2):
        gc.disable()
        for name in names:
            for operator, (cpu, emulated) in works_of(name):
                cost: Cost = compare(cpu, emulated, ROUNDS)
                yield Line(name, operator, kernels_of(emulated), **asdict(cost))
            gc.collect()


def lines_of_a_process(names: list[str]) -> list[Line]:
    """Measures in a process of its own, so that this one keeps its torch to itself."""
    done = subprocess.run([sys.executable, __file__, "--json", *names], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WorkerError(f"operators: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return [Line(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]


def row_of(line: Line, of: str) -> Row:
    composed = f", {line.kernels} kernels" if line.kernels > 1 else ""
    return Row(
        f"{line.family}: {line.operator}{composed} ({of})",
        line.emulated,
        "plain CPU",
        line.cpu,
        difference=line.of_a_kernel,
        goal=line.goal,
    )


def measure() -> list[Row]:
    rows = []
    found = lines_of_a_process([*FAMILIES, LISTED])
    for family in FAMILIES:
        members = [line for line in found if line.family == family]
        bound = [line for line in members if line.goal is not None]
        rows.append(row_of(max(bound, key=lambda line: line.of_a_kernel), f"worst of {len(bound)}"))
        rows += [row_of(line, "no goal") for line in members if line.goal is None]
    listed = sorted((line for line in found if line.family == LISTED), key=lambda line: -line.of_a_kernel)
    rows += [row_of(line, f"{place} of {len(listed)}") for place, line in enumerate(listed[:SHOWN], start=1)]
    return rows


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name != "--json"] or list(FAMILIES)
    for name in names:
        if name != LISTED and name not in FAMILIES:
            print(f"expected {LISTED} or one of {', '.join(FAMILIES)}; got {name!r}", file=sys.stderr)
            return 2
    if "--json" in arguments:
        for line in lines(names):
            print(json.dumps(asdict(line)), flush=True)
        return 0
    found = sorted(lines(names), key=lambda line: -line.of_a_kernel)
    print(
        f"Times of one call in microseconds; 'a kernel' is what each dispatched kernel adds, and is to be at most "
        f"{in_units(GOAL)}.\n{HEAD}"
    )
    print("\n".join(str(line) for line in found))
    missed = sum(line.missed for line in found)
    print(f"{len(found)} operators, {missed} over the goal")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
