"""What is written for a terminal keeps to its columns, in both languages: nothing is left for the terminal to break."""

from __future__ import annotations

import io

import pytest

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Operand, Place
from devsan.diagnostics.messages import message
from devsan.diagnostics.placement import Placement
from devsan.job.outcome import Fate
from devsan.job.text import lines_of as lines_of_ranks
from devsan.render.language import Language, language_for
from devsan.render.terminal.diff_lines import diff_lines
from devsan.render.terminal.printer import lines_of
from devsan.render.terminal.run import _summary as summary
from devsan.render.terminal.text import Line, display_width, paragraph, wrapped

SENTENCE = (
    "Expected all tensors to be on the same device, but got target is on cuda:0, different from other tensors on "
    "cuda:1 (when checking argument in method wrapper_CUDA_nll_loss_forward)"
)
FILE = "transformers/models/a_model_of_a_very_long_name/" + "deep/" * 8 + "modeling_a_model_of_a_very_long_name.py"
EXPRESSION = "some_hidden_prediction_logits.reshape(-1, some_hidden_prediction_logits.size(-1)).contiguous().float()"
SOURCE = f"        loss = self.loss_function_of_the_model({EXPRESSION}, labels_of_the_batch.reshape(-1).contiguous())"


def a_wide_report() -> Diagnostic:
    start, labels = SOURCE.index(EXPRESSION), SOURCE.index("labels_of")
    site = Place(
        FILE, 12345, start, lines={12345: SOURCE}, note=message("called from here"),
        labels=(Label(12345, start, start + len(EXPRESSION), ("cuda:1  float32[2048,151936]  (input)",)),
                Label(12345, labels, labels + 19, ("cuda:0  int64[2048]  (target)",), offending=True)),
    )  # fmt: skip
    placed = Operand(EXPRESSION, Placement("cuda:1", "float32", (2048, 151936)), owner="accelerate: AlignDevicesHook",
                     place=Place(FILE, 77, 5, lines={77: SOURCE.strip()}), setting=f'device_map["{FILE}"] = 1',
                     qualified_name="model." + "language_model.layers.17." * 4 + "weight")  # fmt: skip
    longer = SOURCE.replace("labels_of_the_batch.", "labels_of_the_batch.to(some_hidden_prediction_logits.device).")
    more = Edit(Place(FILE, 9), "a()", "\n".join(["a()", SOURCE, SOURCE]))
    edits = (Edit(site, SOURCE, longer), Edit(Place(f"other/{FILE}", 7), SOURCE, longer), more)
    fixes = (Fix(f"move `labels_of_the_batch` to the device of `{EXPRESSION}`", "likely", edits), Fix(FILE, "possible"))
    return Diagnostic(
        title=f"operands of {EXPRESSION} are on cuda:1 and cuda:0", code="DV104", sentence=SENTENCE, sites=(site,),
        rank="ranks 1-3", operands=(placed,), placed=(placed, Operand("x", Placement("cpu"))), evidence=(SOURCE, FILE),
        fixes=fixes, naive_fix=f"Moving {EXPRESSION} copies much and can fill the other GPU.", notes=(FILE, SENTENCE),
    )  # fmt: skip


def texts(lines: list[Line]) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in lines]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_report(width: int, language: str) -> None:
    lines = texts(list(lines_of(a_wide_report(), language_for(io.StringIO(), language), width, width)))
    assert [line for line in lines if display_width(line) > width] == []
    heads = ("error", "note", "help", "more", "错误", "说明", "建议", "详情")
    at_the_edge = [line for line in lines if line[:1].strip()]
    assert at_the_edge and all(line.startswith(heads) for line in at_the_edge), at_the_edge


def test_a_diff_and_its_anchor() -> None:
    diff = f"--- a/{FILE}\n+++ b/{FILE}\n@@ -6,2 +6,3 @@\n {SOURCE}\n {SOURCE}\n+{SOURCE}\n"
    lines = texts(list(diff_lines(diff, 80)))
    assert len(lines) >= 3 and [line for line in lines if display_width(line) > 80] == []


def test_a_word_that_is_wider_than_the_terminal() -> None:
    assert max(map(display_width, wrapped("\uac00" * 30, 2, width=12))) <= 10
    assert texts(list(paragraph("a head of twenty columns", "", "", 10))) == ["a head of twenty columns"]


def test_in_a_file_the_sentence_of_an_error_is_whole() -> None:
    lines = texts(list(lines_of(a_wide_report())))
    assert any(line.endswith(f"= torch: {SENTENCE}") for line in lines)


@pytest.mark.parametrize("width", [60, 80])
def test_how_ranks_ended(width: int) -> None:
    told = "DistBackendError: NCCL error in a communicator that a peer rank left; " * 2
    fates = [
        Fate(0, "failed", type="RuntimeError", message=SENTENCE, place=f"{FILE}:12", time=1.0),
        Fate(1, "peer_failed", type="DistBackendError", message=told, place=f"{FILE}:12", time=2.0),
    ]
    job = {"program": "train.py", "ranks": [{"rank": 0, "reported": False}, {"rank": 1, "reported": False}]}
    lines = texts(list(lines_of_ranks(job, fates, Language(), width)))
    assert [line for line in lines if display_width(line) > width] == []
    assert all(line.startswith("  ") for line in lines[1:])


def test_what_a_run_did() -> None:
    frame = {"file": FILE, "line": 12345}
    run = {
        "process": {"world_size": 1, "rank": 0, "command": ["python", FILE, "--option", "value" * 20]},
        "end": {"exception": None, "how": "finished", "time": 1.0, "exit_code": 0}, "gpus": [0],
        "memory": {"devices": [{"device": "cuda:10", "peak_allocated": 1023 << 20, "peak_reserved": 1100 << 20,
                                "budget": 80 << 30}]},
        "places": [{"from": "cuda:10", "to": "cuda:11", "bytes": 1 << 30, "times": 12345, "event": {"site": frame}}],
        "notes": [SENTENCE],
    }  # fmt: skip
    lines = texts(list(summary(run, Language(), 80)))
    assert [line for line in lines if display_width(line) > 80] == []
    assert any("[=.........]  peak 1023 MiB" in line for line in lines)


def test_a_path_is_broken_between_its_folders() -> None:
    """Where one of its names has no room by itself, within that one."""
    path = "some_models/a_long_folder_name/modeling_of_it.py:12:5"
    assert wrapped(path, 0, width=32) == ["some_models/a_long_folder_name/", "modeling_of_it.py:12:5"]
    assert wrapped(path, 0, width=20) == ["some_models/", "a_long_folder_name/", "modeling_of_it.py:", "12:5"]
    assert wrapped(path, 0, width=12) == ["some_models/", "a_long_", "folder_name/", "modeling_of_", "it.py:12:5"]
