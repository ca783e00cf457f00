"""What one experiment proves, beside its numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

from devsan.fix.outcome import Outcome
from devsan.fix.trial import judged, vacated_by
from devsan.numbers.comparison import Comparison


def outcome(*models: dict[str, Any], ran_on: str = "", **peaks: int) -> Outcome:
    held = {name.replace("cuda", "cuda:"): most for name, most in peaks.items()}
    numbers = {"0": [{"kind": "end", "events": 0, "ran_on": [ran_on]}]} if ran_on else {}
    return Outcome(0, False, [], numbers, held, [], 1.0, models=models)


def model(device: str, finding: str = "") -> dict[str, Any]:
    tensors = [{"device": device, "bytes": 64}]
    return {"finding": finding, "expression": "", "type": "Linear", "wrappers": [], "modules": [{"tensors": tensors}]}


FIRST = outcome(model("cuda:0", "one"), model("cuda:1", "one"), model("cuda:0", "two"), model("cuda:1", "two"))


def test_a_gpu_without_weights_is_vacated_though_it_computes():
    assert vacated_by(FIRST, outcome(model("cuda:0"), model("cuda:0"), cuda0=512, cuda1=512)) == ("cuda:1",)
    assert vacated_by(FIRST, outcome(model("cuda:0"), model("cuda:1"), cuda0=512, cuda1=512)) == ()


def test_where_models_are_gone_at_the_end_the_peak_tells():
    assert vacated_by(FIRST, outcome(model("cuda:0"), cuda0=512, cuda1=512)) == ()
    assert vacated_by(FIRST, outcome(cuda0=512, cuda1=16)) == ("cuda:1",)


def test_models_that_were_taken_to_the_cpu_at_the_end_were_on_their_gpus():
    assert vacated_by(FIRST, outcome(model("cpu"), model("cpu"), cuda0=512, cuda1=512)) == ()
    assert vacated_by(FIRST, outcome(model("cpu"), model("cpu"), cuda0=512, cuda1=16)) == ("cuda:1",)


def test_models_that_are_gone_ran_where_their_weights_were():
    first = outcome(model("cuda:0", "one"))
    assert vacated_by(first, outcome(cuda0=512, ran_on="cpu")) == ("cuda:0",)
    assert vacated_by(first, outcome(cuda0=512, ran_on="cuda:0")) == ()


def test_a_model_that_hooks_load_for_each_call_is_left_on_no_gpu_and_ran_there():
    first = outcome(model("cuda:0", "one"))
    assert vacated_by(first, outcome(model("meta"), cuda0=512, ran_on="meta")) == ()
    assert vacated_by(first, outcome(model("meta"), cuda0=16, ran_on="meta")) == ("cuda:0",)


def test_a_gpu_that_keeps_a_small_part_of_the_model_is_not_vacated():
    def spread(of_embedding: int) -> dict[str, Any]:
        tensors = [{"device": "cuda:0", "bytes": of_embedding}, {"device": "cuda:1", "bytes": 1000 - of_embedding}]
        return {"finding": "", "expression": "", "type": "Linear", "wrappers": [], "modules": [{"tensors": tensors}]}

    first = outcome(model("cuda:0", "one"))
    assert vacated_by(first, outcome(spread(80), cuda0=512, cuda1=512)) == ()
    assert vacated_by(first, outcome(spread(8), cuda0=512, cuda1=512)) == ("cuda:0",)


def test_a_gpu_that_keeps_its_head_alone_is_vacated_where_all_else_is_gathered():
    def halves(on_second: int) -> dict[str, Any]:
        tensors = [{"device": "cuda:0", "bytes": 1000 - on_second}, {"device": "cuda:1", "bytes": on_second}]
        return {"finding": "one", "expression": "", "type": "Linear", "wrappers": [], "modules": [{"tensors": tensors}]}

    peaks = {"cuda0": 2048, "cuda1": 2048}
    assert vacated_by(outcome(halves(450)), outcome(halves(60), **peaks)) == ("cuda:1",)
    assert vacated_by(outcome(halves(450)), outcome(halves(200), **peaks)) == ()
    assert vacated_by(outcome(halves(0)), outcome(halves(950), **peaks)) == ()  # where a map wants it


def test_a_fix_that_takes_the_whole_model_from_the_gpus_is_rejected():
    """Its inputs may be on a GPU still."""
    operands = [{"device": "cuda:0"}, {"device": "cpu"}]
    first = replace(FIRST, findings=[{"operands": operands}], peaks={"cuda:0": 512, "cuda:1": 512})
    reference: Any = Mock(first=first, judge=lambda *_: Comparison({"loss": 2}))
    moved = judged(Mock(), reference, (), outcome(model("cpu"), model("cpu"), ran_on="cpu", cuda0=16))
    assert moved.status == "rejected" and moved.comparison is not None
    assert moved.comparison.difference == "no part of the model is left on a GPU"
    kept = judged(Mock(), reference, (), outcome(model("cuda:0"), model("cuda:0"), cuda0=512))
    assert kept.status == "verified" and kept.vacated == ("cuda:1",)
