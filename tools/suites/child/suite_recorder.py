"""A pytest plugin: chooses the tests of a file and writes a line when each starts and ends.

The parent (``session.py``) reads from these lines where a process crashed, and goes on behind that test.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

RECORDED = "SUITE_RECORDED"
"""Set in the process that records, and so in what its tests start: Fabric starts pytest again for each further rank."""

_state: dict[str, Any] = {}


def name_of(nodeid: str) -> str:
    """Returns the test's name inside of its file: ``TestHooks.test_add[cuda]``."""
    return nodeid.partition("::")[2].replace("::", ".")


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--suite-job", help="JSON file: which tests, and which of them are over")
    parser.addoption("--suite-lines", help="file that gets a JSON object a line")


def pytest_configure(config: Any) -> None:
    _state["job"] = json.loads(Path(config.getoption("--suite-job")).read_text())
    _state["lines"] = None if RECORDED in os.environ else Path(config.getoption("--suite-lines"))
    os.environ[RECORDED] = "1"
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _write(**line: Any) -> None:
    if _state["lines"] is not None:
        with _state["lines"].open("a") as stream:
            stream.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    job = _state["job"]
    match = re.compile(job["match"])
    chosen = [item for item in items if match.search(name_of(item.nodeid))]
    if job["only"] is not None:
        only = set(job["only"])
        chosen = [item for item in chosen if name_of(item.nodeid) in only]
    else:
        chosen = chosen[:: job["every"]]
    over = set(job["over"])
    items[:] = [item for item in chosen if name_of(item.nodeid) not in over]
    _write(collected=len(items))


def pytest_collectreport(report: Any) -> None:
    if report.failed or (report.skipped and not report.result and "::" not in report.nodeid):
        _write(whole=report.outcome, text=_text(report))


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(start=name_of(nodeid))


def pytest_runtest_logreport(report: Any) -> None:
    # A failure says so in any phase, success when the test itself ran. An expected failure is reported as skipped.
    if report.failed:
        _write(end=name_of(report.nodeid), outcome="failed", text=_text(report))
    elif report.skipped:
        outcome = "passed" if hasattr(report, "wasxfail") else "skipped"
        _write(end=name_of(report.nodeid), outcome=outcome, text=_text(report))
    elif report.when == "call":
        _write(end=name_of(report.nodeid), outcome="passed", text="")


def _text(report: Any) -> str:
    """Returns the kind and the sentence of a failure, or the reason of a skip, in one line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:600]
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return " | ".join(str(report.longrepr).strip().splitlines()[-3:])[:600]
    lines = [line.strip() for line in crash.message.splitlines() if line.strip()]
    hint = next((i for i, line in enumerate(lines) if line.startswith("To execute this test")), len(lines))
    return f"{' | '.join(lines[:hint])[:600]} ({Path(crash.path).name}:{crash.lineno})"


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    _write(finished=int(exitstatus))


def pytest_unconfigure() -> None:
    os._exit(0)  # what a test left running is not waited for
