"""What holds for every test process and for what it starts; and a program run in the process, explained.

One OpenMP thread: the tests run side by side, and many compare numbers with the CPU's to the last bit, which holds for
equal numbers of threads only. `torch.set_num_threads` does not reach the threads that autograd has already started for
the devices, so the number is set before torch is imported.

Bytecode is kept, also where PYTHONDONTWRITEBYTECODE says otherwise: hundreds of processes import DevSan.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
sys.path.insert(0, str(Path(__file__).parent))  # for `translation`


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the goldens of the tests that are run anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as long all but one in so many of the tests marked `drawn`, and of those that are long all but one in so
    many of the `sampled` ones as rare: the same ones on every machine."""
    for item in items:
        drawn, sampled = item.get_closest_marker("drawn"), item.get_closest_marker("sampled")
        if drawn is not None and zlib.crc32(item.name.encode()) % drawn.args[0]:
            item.add_marker("long")
        is_long = item.get_closest_marker("long") is not None
        if is_long and sampled is not None and zlib.crc32(item.nodeid.encode()) % sampled.args[0]:
            item.add_marker("rare")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names the order of a run that failed, also where -q leaves the header out."""
    if config.getoption("random_order_enabled", False) and terminalreporter.stats.keys() & {"failed", "error"}:
        seed = str(config.getoption("random_order_seed")).removeprefix("default:")
        terminalreporter.write_line(f"The order of the tests: --random-order-seed={seed}")


@pytest.fixture(scope="session", autouse=True)
def no_tests_in_programs() -> Iterator[None]:
    """The files of the tests that have been imported are not files of the programs that tests run in this process."""
    from devsan.introspect.frames import only_calls

    folder, known = str(Path(__file__).parent) + os.sep, only_calls.package_of
    with mock.patch.object(only_calls, "package_of", lambda file: "tests" if file.startswith(folder) else known(file)):
        yield


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path, int], Any]:
    """Returns the Explanation of how a program's text fails on so many GPUs; None if it does not fail.

    Nothing is collected or forgotten between programs: what an earlier one left alive must not change a later finding.
    """
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def run(text: str, file: Path, gpus: int) -> Any:
        import torch

        import devsan
        from devsan.introspect.explain import explain
        from devsan.introspect.frames.chain import failure_of

        with mock.patch.dict(os.environ), devsan.emulate(gpus=gpus):  # some programs set LOCAL_RANK
            try:
                exec(compile(text, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
            except Exception as error:
                failure = failure_of(error, error.__traceback__)
                assert failure is not None, f"expected a refusal of a device, got {type(error).__name__}: {error}"
                return explain(failure)
            finally:
                torch.set_default_device(None)
        return None

    return run


@pytest.fixture(scope="session")
def ranks_server() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported torch and forks ranks: tests/ranks_server.py."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("DEVSAN")}
    server = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("ranks_server.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**environment, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    yield server
    assert server.stdin is not None and server.stdout is not None
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=30)


@pytest.fixture
def launched(ranks_server: subprocess.Popen[str]) -> Callable[..., Any]:
    """Runs a program's text in ranks; returns "findings", "documents", "recordings" and "codes" of the job."""

    from devsan.diagnostics.messages import restored

    def run(
        program: str, file: Path, gpus: int, ranks: int, environment: dict[str, str] | None = None,
        memory: str | None = None, seconds: float = 30,
    ) -> Any:  # fmt: skip
        file.write_text(program, encoding="utf-8")
        request = {
            "program": program, "file": str(file), "gpus": gpus, "ranks": ranks, "environment": environment or {},
            "memory": memory, "seconds": seconds,
        }  # fmt: skip
        assert ranks_server.stdin is not None and ranks_server.stdout is not None
        print(json.dumps(request), file=ranks_server.stdin, flush=True)
        return restored(json.loads(ranks_server.stdout.readline()))

    return run
