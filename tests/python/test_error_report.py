"""on_exception: what it answers, that it never raises, and what it costs when nothing is to be told."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.error_report import on_exception

MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
ROOT = Path(__file__).resolve().parents[2]

Reporter = Callable[[BaseException], str]


def error_of(action: Callable[[], object]) -> BaseException:
    try:
        action()
    except BaseException as error:
        return error
    raise AssertionError("expected an exception, got none")


def fail(error: BaseException) -> None:
    raise error


def test_other_exceptions_get_no_report(report_on: Reporter) -> None:
    assert report_on(error_of(lambda: fail(KeyError("device")))) == ""


@pytest.mark.parametrize(
    "sentence, told",
    [
        ("CUDA error: device-side assert triggered", "A kernel failed, most often on an index that is out of range"),
        ("Expected to have finished reduction in the prior iteration before", "find_unused_parameters=True"),
        ("Expected to have finished reduction in the prior iteration. `find_unused_parameters=True` is enabled", ""),
        ("'weight' must be 2-D", ""),  # without DeepSpeed it is the program's own
        ("KeyError: 'device'", ""),
    ],
)
def test_what_is_known_of_another_error_is_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sentence: str, told: str
) -> None:
    monkeypatch.delitem(sys.modules, "deepspeed", raising=False)  # of another test
    assert on_exception(None, RuntimeError(sentence), None) is bool(told)
    noted = capsys.readouterr().err
    assert noted.startswith("\nnote: " if told else "")
    assert told in noted
    assert noted.count("\n") == (2 if told else 0)


def test_what_is_known_of_an_error_of_a_library(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deepspeed", sys)
    error = RuntimeError("the step failed")
    error.__cause__ = RuntimeError("got [0] but expected shape compatible with [4, 4]")
    assert on_exception(None, error, None)
    assert "ZeRO-3 has partitioned" in capsys.readouterr().err


def test_an_exception_without_a_traceback(report_on: Reporter) -> None:
    assert report_on(RuntimeError(MIXED)).splitlines()[1:] == [
        "error: operands are on cuda:0 and cpu",
        f"   = torch: {MIXED}",
    ]


def test_an_exception_that_cannot_be_printed(report_on: Reporter) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    assert report_on(error_of(lambda: fail(Mute()))) == ""


def test_a_chain_that_is_a_circle(report_on: Reporter) -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert report_on(first) == ""


def test_from_none_hides_what_was_before(report_on: Reporter) -> None:
    error = KeyError("x")
    error.__context__ = RuntimeError(MIXED)
    assert MIXED in report_on(error)
    error.__suppress_context__ = True
    assert report_on(error) == ""


def test_its_own_failure_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devsan.failure_report.build", lambda failure: fail(ValueError("first\nsecond")))
    stream = io.StringIO()
    assert on_exception(RuntimeError, RuntimeError(MIXED), None, stream)
    assert stream.getvalue() == "devsan: the report could not be made: ValueError: first second\n"


def test_a_closed_stream_is_no_matter() -> None:
    stream = io.StringIO()
    stream.close()
    assert not on_exception(RuntimeError, RuntimeError(MIXED), None, stream)


def test_it_is_light_until_something_failed() -> None:
    code = (
        "import sys; from devsan.error_report import on_exception; on_exception(None, KeyError(1), None); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'torch', 'rich', 'executing', 'numpy'}), "
        "'devsan.failure_report' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert (result.stdout, result.stderr) == ("[] False\n", "")


def test_the_text_of_a_command_is_its_source() -> None:
    code = (
        "import sys; from devsan.error_report import on_exception\n"
        "sys.excepthook = on_exception\n"
        f"def f(x): raise RuntimeError('{MIXED}')\n"
        "f(1)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert f" 3 | def f(x): raise RuntimeError('{MIXED[:60]}" in result.stderr


def test_a_rank_is_named(report_on: Reporter, monkeypatch: pytest.MonkeyPatch) -> None:
    error = error_of(lambda: fail(RuntimeError(MIXED)))
    assert "rank" not in report_on(error)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert report_on(error).splitlines()[2].endswith("rank 2")


def test_labels_tell_where_an_operand_was_though_a_handler_has_moved_it(gpus: None, report_on: Reporter) -> None:
    import torch

    model = torch.nn.Linear(4, 4).to("cuda:1")

    def fit() -> None:
        try:
            model(torch.ones(2, 4, device="cuda:0"))
        except RuntimeError:
            model.cpu()  # as Lightning's Trainer does before it raises again
            raise

    report = report_on(error_of(fit))
    assert "cuda:1  float32[4,4]" in report
    assert " cpu  float32" not in report
