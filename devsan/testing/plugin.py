"""pytest plugin: tests on emulated GPUs. Off until asked, and until then nothing but DevSan's options is imported.

- ``pytest --devsan-gpus 4`` emulates GPUs for the whole session; so do the other options of ``devsan run``.
- ``@pytest.mark.gpus(4, profile="a100-80g", memory="24GiB", used_memory=None)`` emulates them for one test.
- The fixture ``emulated_gpus`` is the list of ``torch.device`` of the GPUs; without mark and option, of two.
- A test that fails with a device error has DevSan's report behind its traceback where GPUs are emulated, with
  ``--devsan-report``, or where a conftest calls ``devsan.install()``; ``--no-devsan-report`` leaves it out. The line
  that has fixes of the test tried, ``devsan fix``, stands below it.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from devsan import active_options, excepthook, session
from devsan.errors import DevsanError
from devsan.fail_on import exit_code
from devsan.job import member
from devsan.options import DEFAULT_GPUS, OPTIONS, Options, from_values
from devsan.post_mortem import text_about
from devsan.project_options import in_force
from devsan.run_files import run_file, tally

if TYPE_CHECKING:
    import torch

_MARK = "gpus(gpus, profile=None, memory=None, used_memory=None): run this test on emulated GPUs (DevSan)"
_FOR_THE_SESSION = pytest.StashKey[Options]()
_FAILING = pytest.StashKey[Options]()
_OF_WORKERS = pytest.StashKey[dict[str, int]]()
_OF_PYTEST = ("format", "quiet", "verbose")  # pytest itself reports on exceptions, and has lines of its own
_ABOUT_FINDINGS = {"fail_on", "error_exitcode"}  # of any emulation, also that of a mark
_BEFORE_THIS_TEST = pytest.StashKey["Options | None"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--devsan-gpus`` and the other options of an emulation."""
    group = parser.getgroup("devsan", "emulated GPUs (DevSan)")
    for option in OPTIONS:
        if option.name not in _OF_PYTEST:
            group.addoption(f"--devsan-{option.key}", **option.argument)
    group.addoption(
        "--devsan-report",
        action=argparse.BooleanOptionalAction,
        help="explain device errors after their traceback (default: with emulated GPUs or after devsan.install())",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark and starts the session's emulation, before any test module is imported."""
    config.addinivalue_line("markers", _MARK)
    config.stash[_OF_WORKERS] = {}
    given = {
        each.name: config.getoption(f"devsan_{each.name}", None) for each in OPTIONS if each.name not in _OF_PYTEST
    }
    texts = {name: text for name, text in given.items() if text is not None}
    try:
        options = in_force(texts, variable="").options if texts else Options()
        config.stash[_FAILING] = options
        if not texts.keys() - _ABOUT_FINDINGS:
            return
        options.devices()
        if options.output and not hasattr(config, "workerinput"):  # workers find the files of each other
            run_file.check(options, "--devsan-force")
        config.stash[_FOR_THE_SESSION] = options
        if options.report_file:
            member.join(options)  # at its end the job writes the report
        if not _only_distributes(config):
            session.begin(options)
    except DevsanError as error:
        raise pytest.UsageError(f"devsan: {error}") from None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Has findings change the exit code where that is asked for. A worker of pytest-xdist hands on what it found."""
    found, output = Counter(tally.result().severities), getattr(session.config, "workeroutput", None)
    if output is not None:
        output["devsan_findings"] = dict(found)
        return
    options = session.config.stash[_FAILING]
    of_workers = session.config.stash[_OF_WORKERS]
    found.update(of_workers)
    session.exitstatus = exit_code(found, options.fail_on, options.error_exitcode, own=int(exitstatus))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds what a worker of pytest-xdist has found."""
    found = node.config.stash[_OF_WORKERS]
    for severity, count in getattr(node, "workeroutput", {}).get("devsan_findings", {}).items():
        found[severity] = found.get(severity, 0) + count


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stops the session's emulation."""
    if _FOR_THE_SESSION in config.stash:
        session.end()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says what is emulated."""
    options = config.stash.get(_FOR_THE_SESSION, None)
    if options is None:
        return None
    names = [device.name for device in options.devices()]
    return f"devsan: emulated GPUs: {', '.join(names)}" if names else "devsan: real GPUs"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Starts the emulation that the test's mark or fixture asks for, before the first fixture is set up."""
    mark = item.get_closest_marker("gpus")
    wanted = None
    if mark is not None:
        wanted = _read_mark(mark)
    elif "emulated_gpus" in getattr(item, "fixturenames", ()) and active_options.current() is None:
        wanted = Options()
    if wanted is None:
        return
    before = active_options.current()
    if before is not None and before.devices() == wanted.devices():
        return
    item.stash[_BEFORE_THIS_TEST] = before
    try:
        session.begin(wanted)
    except DevsanError as error:
        raise _failure(error) from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Ends what `pytest_runtest_setup` began, after the last fixture is torn down."""
    try:
        return (yield)
    finally:
        if _BEFORE_THIS_TEST in item.stash:
            before = item.stash[_BEFORE_THIS_TEST]
            del item.stash[_BEFORE_THIS_TEST]
            session.end()
            if before is not None:
                session.begin(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts DevSan's report behind the traceback of a test that failed with a device error."""
    result = yield
    wanted = item.config.getoption("devsan_report", None)
    if wanted is None:
        wanted = active_options.current() is not None or excepthook.is_installed()
    if wanted and call.excinfo is not None and result.failed:
        try:
            text = text_about(call.excinfo.value, is_shown=True)
        except Exception as own:  # the test's own failure is what counts
            text = f"devsan: no report: {type(own).__name__}: {own}"
        else:
            text = text.rstrip("\n") + _how_to_fix(item) if text else text
        add: Any = getattr(result.longrepr, "addsection", None)
        if text and add is not None:
            add("DevSan", text)
        elif text:
            result.sections.append(("DevSan", text))
    return result


def _how_to_fix(item: pytest.Item) -> str:
    """The line to type that tries fixes of this test; "" where no GPUs are emulated. Nothing is tried unasked."""
    options = active_options.current()
    if options is None or not options.gpus:
        return ""
    kept = [each.partition("=") for each in options.to_variable().split(":")]
    given = [f"--{key}={value}" for key, _, value in kept if key in ("gpus", "profile", "memory", "used-memory")]
    file, colons, name = item.nodeid.partition("::")
    test = f"{os.path.relpath(item.path)}{colons}{name}" if colons else file
    return f"\n$ {shlex.join(['devsan', 'fix', *given, '-m', 'pytest', test])}"


@pytest.fixture
def emulated_gpus() -> list[torch.device]:
    """The emulated GPUs as ``torch.device``: those of the mark ``gpus``, else of ``--devsan-gpus``, else two."""
    import torch

    options = active_options.current()
    if options is None:  # asked for by request.getfixturevalue, when it is too late to start
        pytest.fail(
            f"devsan: expected emulated_gpus in the test's signature, @pytest.mark.gpus({DEFAULT_GPUS}) or "
            f"--devsan-gpus {DEFAULT_GPUS}, got request.getfixturevalue alone",
            pytrace=False,
        )
    return [torch.device("cuda", ordinal) for ordinal in range(len(options.gpus))]


def _read_mark(mark: pytest.Mark) -> Options:
    try:
        values = dict(mark.kwargs)
        if mark.args:
            values["gpus"] = mark.args[0] if len(mark.args) == 1 else list(mark.args)
        options = from_values(**values)
        options.devices()
    except DevsanError as error:
        raise _failure(error) from None
    return options


def _failure(error: DevsanError) -> BaseException:
    """What ``pytest.fail`` raises, which alone would show the error that it stands for as well."""
    return pytest.fail.Exception(f"devsan: {error}", pytrace=False)


def _only_distributes(config: pytest.Config) -> bool:
    """Whether this is the process of pytest-xdist that hands out tests and runs none."""
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
