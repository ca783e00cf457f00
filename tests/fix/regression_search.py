"""One search for one of the regressions, and what came of it in a word or a sentence."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from seeded import stage

from devsan.diagnostics.messages import Message
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.search import Search, search
from devsan.options import Options

REGRESSIONS = Path(__file__).parents[1] / "regressions"
CASES = sorted((REGRESSIONS / "cases").glob("*.py"))

SECONDS = 600.0
"""The most that one run may take: far more than any takes, so that the speed of the machine decides nothing."""


def search_fix(case: Path) -> Search:
    """Looks for a fix of a case, which runs in an empty folder on the GPUs that its first line asks for."""
    gpus = case.read_text(encoding="utf-8").split("\n", 1)[0].split("gpus: ")[1].split(" ")[0]
    environ = {**os.environ, "PYTHONPATH": str(REGRESSIONS), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="devsan-regression-") as folder:
        job = Job(Options().updated({"gpus": gpus}), (str(case),), folder, environ)
        with Laboratory(job, SECONDS, stage=stage()) as laboratory:
            return search(laboratory, lambda *_: None)


def status_of(found: Search) -> str:
    """Returns "verified", "unverified" (a change ends the program, nothing is compared), "open" or "nothing"."""
    if found.verified:
        return "verified"
    if any(trial.status == "unverified" for trial in found.trials):
        return "unverified"
    return "open" if found.trials else "nothing"


def reason_of(found: Search) -> str:
    """Returns why nothing is verified, without what differs from case to case."""
    for trial in found.trials:
        if trial.status == "unverified" and trial.comparison is not None:
            why = trial.comparison.impossible
            return (why.id if isinstance(why, Message) else why).partition(":")[0]
    return "no change ends it with the numbers of one device" if found.trials else "no change is proposed"
