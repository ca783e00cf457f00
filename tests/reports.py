"""Fixtures for what is told of a failure: the programs of tests/python/render/programs, and the reports that they get.

`pytest tests/python/render --bless` writes the files in goldens/ anew; look at the difference before it is committed.
"""

from __future__ import annotations

import gc
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recorded_runs import FAILS, Programs

RENDER = Path(__file__).parent / "python" / "render"
GOLDENS = RENDER / "goldens"
PROGRAMS = RENDER / "programs"

Run = Callable[[str], str]


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    # None when pytest was started above this folder: the option is then not known
    return bool(request.config.getoption("--bless", default=False))


@pytest.fixture
def golden(bless: bool) -> Callable[[str, str], None]:
    """Compares a report with the file of that name, or writes the file under --bless."""

    def check(name: str, report: str) -> None:
        file = GOLDENS / f"{name}.txt"
        text = re.sub(r"(torch/\S+\.py):\d+", r"\1:LINE", report)  # torch's own lines move from release to release
        if "out of memory" in text:
            text = re.sub(r"\d+(?:\.\d+)? (?:bytes|[KMG]iB)", "SIZE", text)  # of the profile, and of what ran before
        if bless:
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"expected {file.name} in goldens, got none; pytest tests/python/render --bless writes it"
        assert text == file.read_text(encoding="utf-8")

    return check


@pytest.fixture
def gpus() -> Iterator[None]:
    """Four emulated GPUs."""
    from devsan import emulate

    with emulate(gpus=4):
        yield


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is alone, has no color and shows paths from the folder of the programs on."""
    monkeypatch.chdir(RENDER)
    for name in ("FORCE_COLOR", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEVSAN_LANG", "en")
    monkeypatch.setattr(sys, "path", [*sys.path, str(PROGRAMS / "site-packages")])


@pytest.fixture
def report_on(quiet: None) -> Callable[[BaseException], str]:
    """Returns what is printed about an exception."""

    def report(error: BaseException) -> str:
        from devsan.error_report import on_exception

        stream = io.StringIO()
        printed = on_exception(type(error), error, error.__traceback__, stream)
        assert printed == bool(stream.getvalue())
        return stream.getvalue()

    return report


@pytest.fixture
def run(report_on: Callable[[BaseException], str]) -> Run:
    """Runs programs/NAME.py, which must fail, and returns the report."""

    def run_program(name: str) -> str:
        gc.collect()  # a cause is looked for among the models that are alive: another program's is none of this one's
        file = PROGRAMS / f"{name}.py"
        code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
        try:
            exec(code, {"__name__": "__main__", "__file__": str(file)})
        except Exception as error:
            return report_on(error)
        raise AssertionError(f"expected {name} to fail, got nothing")

    return run_program


@dataclass(frozen=True)
class Failed:
    """A run that failed, as it was recorded.

    Attributes:
        folder: where program.py and run.dvs lie.
        run: the document.
        code: its exit code.
        error: what it wrote on stderr.
    """

    folder: Path
    run: dict[str, Any]
    code: int
    error: str


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """Runs programs under ``devsan run -o run.dvs`` in a folder of their own."""
    return Programs(tmp_path)


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Failed:
    """What ``FAILS`` left."""
    programs = Programs(tmp_path_factory.mktemp("failed"))
    code, _, error = programs.run(FAILS, "--gpus", "2", "--memory", "1GiB", "-orun.dvs")
    return Failed(programs.folder, programs.read(), code, error)
