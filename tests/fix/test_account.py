"""From experiments to their result: the best fix, the cause that they decide, what each costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.diagnostics.messages import message
from devsan.fix.account import cost_in_words, cost_of, patches_of, result_of
from devsan.fix.change import Change
from devsan.fix.experiment import Outcome
from devsan.fix.search import Search
from devsan.fix.trial import Trial
from devsan.numbers.comparison import Comparison

SEEN = message("{code}: {sentence}", code="DV104", sentence=message("the same failure"))


def outcome(exit_code: int = 0, findings: Any = (), places: Any = (), steps: int = 2, error: str = "") -> Outcome:
    numbers = {"rank0": [{"kind": "loss", "tensors": []}] * steps}
    return Outcome(exit_code, False, findings, numbers, {"cuda:0": 2048, "cuda:1": 0}, places, 1.0, error)


def moved(start: str, end: str, times: int, size: int) -> dict[str, Any]:
    return {"from": start, "to": end, "times": times, "bytes": size}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("a = 1\nb = a + c\n", encoding="utf-8")
    return path


@pytest.fixture
def finding(script: Path) -> dict[str, Any]:
    site = {"file": "train.py", "path": str(script), "line": 2, "column": 5}
    return {"code": "DV000", "name": "undecided", "severity": "warning", "confidence": "possible", "sites": [site],
            "candidates": [{"code": "DV104", "name": "reduction-boundary"}], "evidence": [SEEN, "DV101: x"],
            "fixes": [], "naive_fix": "", "headline": "operands differ", "sentence": "torch's words",
            "stack": []}  # fmt: skip


def change(path: Path, before: str, after: str, line: int, column: int, code: str = "", kind: str = "") -> Change:
    edit = Edit(Place(path.name, line, column, line, column + len(before), path=str(path)), before, after)
    return Change(f"{before} to {after}", kind or "use_site", (edit,), code)


def verified(change: Change, places: Any = ()) -> Trial:
    return Trial((change,), outcome(places=places), Comparison({"loss": 2, "weights": 4}), "verified")


def result(finding: Any, trials: list[Trial], script: Path) -> Any:
    return result_of(Search(outcome(findings=[finding]), trials=trials), ("train.py",), str(script.parent))


def test_the_cause_is_that_of_the_verified_fix(finding: Any, script: Path) -> None:
    made = result(finding, [verified(change(script, "a", "a.x", 2, 5, "DV104"))], script)
    decided = made.finding
    assert (decided["code"], decided["name"]) == ("DV104", "reduction-boundary")
    assert (decided["confidence"], decided["severity"], decided["candidates"]) == ("certain", "error", [])
    assert decided["evidence"] == ["the same failure"]


def test_fixes_of_several_causes_decide_nothing(finding: Any, script: Path) -> None:
    trials = [verified(change(script, "a", f"a.{code}", 2, 5, code)) for code in ("DV104", "DV101")]
    made = result(finding, trials, script)
    assert made.finding["code"] == "DV000" and made.status == "fixed"
    assert [fix.codes for fix in made.fixes] == [("DV104",), ("DV101",)]


def test_a_fix_of_another_cause_decides_over_the_clues(finding: Any, script: Path) -> None:
    clues = {**finding, "code": "DV101", "name": "single-device-assumption", "evidence": ["the clues"]}
    keyed = change(script, "a", "a.x", 2, 5, "DV113")
    decided = result(clues, [verified(keyed)], script).finding
    assert (decided["code"], decided["name"], decided["confidence"]) == ("DV113", "stale-device-cache", "certain")
    [evidence] = decided["evidence"]
    assert evidence.startswith("With the change of this cause the program runs to its end")
    assert str(keyed.text) in evidence
    both = Trial((keyed, change(script, "c", "c.x", 2, 9, "DV101")), outcome(), Comparison({"loss": 2}), "verified")
    assert result(clues, [both], script).finding["evidence"] == ["the clues"]
    late = Trial((change(script, "c", "c.x", 2, 9, ""), keyed), outcome(), Comparison({"loss": 2}), "verified")
    assert result(clues, [late], script).finding["code"] == "DV101", "it mends what fails next"


def test_the_title_is_not_that_of_the_cause_which_is_ruled_out(finding: Any, script: Path) -> None:
    clues = {**finding, "code": "DV101", "title": "`a` follows one device value"}
    decided = result(clues, [verified(change(script, "a", "a.x", 2, 5, "DV113"))], script).finding
    assert decided["title"] == finding["headline"]
    same = result(clues, [verified(change(script, "a", "a.x", 2, 5, "DV101"))], script).finding
    assert same["title"] == clues["title"]


def test_the_best_is_the_users_then_short_then_cheap(finding: Any, script: Path, tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "library.py"
    library.parent.mkdir()
    library.write_text("a = 1\n", encoding="utf-8")
    dear, cheap = ([moved("cuda:0", "cuda:1", 2, size)] for size in (800, 8))
    trials = [
        verified(change(library, "1", "2", 1, 5, kind="upstream_patch")),
        verified(change(script, "b", "x = 1\ny = 2\nb", 2, 1)),
        verified(change(script, "a", "a.dear", 2, 5), dear),
        verified(change(script, "a", "a.cheap", 2, 5), cheap),
        Trial((change(script, "c", "c.to(0)", 2, 9),), None, None, "failed"),
    ]
    made = result(finding, trials, script)
    assert [fix.texts[0] for fix in made.fixes] == [
        "a to a.cheap", "a to a.dear", "b to x = 1\ny = 2\nb", "1 to 2", "c to c.to(0)",
    ]  # fmt: skip
    assert [fix.is_naive for fix in made.fixes] == [False, False, False, False, True]
    assert made.patch.diff.startswith("--- a/library.py\n")
    assert made.patch.message.startswith(
        "1 to 2\n\noperands differ: torch's words\n\nWith this change the program runs"
    )
    [patch] = patches_of(made.best, Search(trials=trials))
    assert patch.after == b"a = 1\nb = a.cheap + c\n"


def test_a_fix_that_leaves_a_gpu_without_weights_is_the_second_best(finding: Any, script: Path) -> None:
    short = verified(change(script, "a", "a.x", 2, 5))
    emptied = replace(short, vacated=("cuda:1",))
    longer = verified(change(script, "a = 1\nb", "a = 2\nb", 1, 1))
    made = result(finding, [emptied, longer], script)
    assert [fix.vacated for fix in made.fixes] == [(), ("cuda:1",)]
    assert "little or nothing of the model is left on cuda:1" in made.fixes[1].evidence


def test_transfers_of_a_step_are_those_between_gpus_that_come_back() -> None:
    places = [moved("cuda:0", "cuda:1", 3, 30), moved("cuda:1", "cuda:0", 6, 60), moved("cuda:0", "cuda:1", 1, 1000),
              moved("cpu", "cuda:0", 300, 3000)]  # fmt: skip
    cost = cost_of(outcome(places=places, steps=3))
    assert (cost.steps, cost.transfers, cost.transferred) == (3, 3, 30)
    assert cost.per_step and cost.transferred_in_all == 1090
    whole = cost_of(outcome(places=places, steps=0))
    assert (whole.steps, whole.transfers, whole.transferred, whole.per_step) == (0, 10, 1090, False)


def test_transfers_that_come_back_more_rarely_than_backward_is_called_are_those_of_the_whole_run() -> None:
    """A GAN calls backward for each of its losses: no transfer comes back as often."""
    places = [moved("cuda:0", "cuda:1", 8, 64), moved("cuda:1", "cuda:0", 4, 32)]
    cost = cost_of(outcome(places=places, steps=20))
    assert (cost.transfers, cost.transferred, cost.per_step) == (12, 96, False)
    assert str(cost_in_words(cost)).startswith("12 transfers between GPUs, 96 B; peak")
    once = cost_of(outcome(places=[moved("cuda:0", "cuda:1", 1, 64)], steps=20))
    assert str(cost_in_words(once)).startswith("1 transfer between GPUs, 64 B; peak")


def test_what_ends_as_it_is_needs_no_fix(script: Path) -> None:
    assert result_of(Search(outcome(), outcome()), ("train.py",), str(script.parent)).status == "nothing to fix"
    failed = result_of(Search(outcome(1), outcome(1, error="ValueError: x")), ("train.py",), str(script.parent))
    assert (failed.status, failed.error, failed.finding) == ("not fixed", "ValueError: x", None)
