"""Which failures are one group."""

from __future__ import annotations

from typing import Any

import pytest

from devsan.fix.outcome import Outcome
from devsan.sweep.failure_group import group_of
from devsan.sweep.result import Group, Status

FOLDER = "/home/a/project"


def frame(path: str, line: int = 7, package: str = "", source: str = "a + b", function: str = "f") -> dict[str, Any]:
    return {"path": path, "line": line, "package": package, "source": source, "function": function}


def finding(*stack: dict[str, Any], code: str = "DV101", op: str = "aten::add") -> dict[str, Any]:
    return {"code": code, "name": "x", "headline": "h", "id": "i", "cause": "c", "op": op, "stack": list(stack)}


def failed(*stack: dict[str, Any], **known: str) -> Group:
    outcome = Outcome(1, False, [finding(*stack, **known)], {}, {}, [], 1.0)
    return group_of(outcome, "failed", "h", FOLDER, "gpus=2")


def error(output: str, status: Status = "error", reason: str = "") -> Group:
    last = output.splitlines()[-1] if output else ""
    return group_of(Outcome(1, False, [], {}, {}, [], 1.0, last, output), status, reason or last, FOLDER, "gpus=2")


TORCH = frame("/env/lib/python3.11/site-packages/torch/nn/functional.py", 9, "torch")
OWN = frame(f"{FOLDER}/train.py")


def test_the_place_is_that_of_the_program_under_torch() -> None:
    group = failed(TORCH, OWN)
    assert (group.place, group.code, group.cells, group.example) == ("train.py:7", "DV101", (), "gpus=2")
    assert group.finding is not None


def test_the_place_in_a_library_is_the_same_in_every_environment() -> None:
    groups = [
        failed(TORCH, frame(f"/{name}/lib/python3.11/site-packages/transformers/bert.py", line, "transformers"), OWN)
        for name, line in (("one", 5), ("two", 6))
    ]
    assert groups[0].place == "transformers/bert.py:5"
    assert groups[0].id == groups[1].id, "in another release the line stands elsewhere"


@pytest.mark.parametrize(
    "other",
    [
        failed(TORCH, OWN, code="DV102"), failed(TORCH, OWN, op="aten::mul"),
        failed(TORCH, frame(f"{FOLDER}/other.py")), failed(TORCH, frame(f"{FOLDER}/train.py", source="c + d")),
        failed(frame("/x/site-packages/lib/loss.py", package="lib"), OWN),
        failed(),
    ],
)  # fmt: skip
def test_others(other: Group) -> None:
    assert other.id != failed(TORCH, OWN).id


def test_a_line_that_all_models_share_is_told_apart_by_its_caller() -> None:
    shared = frame("/x/site-packages/lib/attention.py", package="lib")
    one, two = (frame(f"/x/site-packages/lib/{name}.py", package="lib") for name in ("bert", "t5"))
    assert failed(shared, one, OWN).id != failed(shared, two, OWN).id


TRACE = """\
Traceback (most recent call last):
  File "/home/a/project/train.py", line 3, in <module>
    main()
  File "/home/a/project/train.py", line {line}, in main
    torch.add(x)
  File "/env/lib/site-packages/torch/nn/functional.py", line 9, in add
    raise
{error}"""


def test_errors_with_the_same_type_at_the_same_place() -> None:
    group = error(TRACE.format(line=8, error="ValueError: 3 of 4"))
    assert group.place == "train.py:8" and group.headline == "ValueError: 3 of 4" and group.output
    assert group.id == error(TRACE.format(line=8, error="ValueError: 5 of 4")).id
    assert group.id != error(TRACE.format(line=8, error="KeyError: 3")).id
    assert group.id != error(TRACE.format(line=8, error="ValueError: 3").replace("in main", "in other")).id


def test_errors_without_a_traceback() -> None:
    assert error("cannot open 3 files").id == error("cannot open 4 files").id != error("cannot read").id
    assert error("", reason="exit code 3").place == ""


def test_what_was_stopped_or_killed() -> None:
    stopped = error("", "stopped", "stopped at its limit of 8 s")
    assert stopped.id != error("", "killed", "killed by SIGKILL").id != error("", "killed", "killed by SIGABRT").id
