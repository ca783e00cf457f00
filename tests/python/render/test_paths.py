"""A file that a report names again is named without its folders, wherever in the report that is."""

from __future__ import annotations

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Operand, Place
from devsan.diagnostics.placement import Placement
from devsan.render.terminal.printer import lines_of

MODEL = "transformers/models/llama/modeling_llama.py"


def report_with(*sites: Place, **others: object) -> list[str]:
    report = Diagnostic(title="t", code="DV104", sites=sites, **others)  # type: ignore[arg-type]
    return ["".join(piece for piece, _ in line).strip() for line in lines_of(report)]


def test_everywhere_in_a_report() -> None:
    placed = Operand("labels", Placement("cpu"), place=Place(MODEL, 401, 12),
                     qualified_name=f"targets in {MODEL}:395")  # fmt: skip
    edits = (Edit(Place(MODEL, 398), "a", "b"),)
    lines = report_with(
        Place("train.py", 16, 1), Place(MODEL, 412, 8), placed=(placed,), notes=(f"made at {MODEL}:390",),
        evidence=(f"It was left at {MODEL}:380.",), fixes=(Fix(f"move it ({MODEL}:370)", "likely", edits),),
    )  # fmt: skip
    assert [line for line in lines if "llama" in line] == [
        f"--> {MODEL}:412:8",
        "= made at .../modeling_llama.py:390",
        "labels  is targets in .../modeling_llama.py:395, placed on cpu",
        "--> .../modeling_llama.py:401:12",
        "note: It was left at .../modeling_llama.py:380.",
        "help: move it (.../modeling_llama.py:370) (likely)",
        "--> .../modeling_llama.py:398",
    ]


def test_a_place_in_a_sentence_may_be_the_first() -> None:
    lines = report_with(notes=(f"left at {MODEL}:1 and {MODEL}:2, see https://example.org/a/{MODEL}:3",))
    told = " ".join(lines)
    assert f"= left at {MODEL}:1 and .../modeling_llama.py:2, see" in told
    assert f"https://example.org/a/{MODEL}:3" in told, "no place, an address"


def test_files_of_one_name_stay_whole() -> None:
    lines = report_with(Place("models/bert/layers.py", 3), Place("models/bert/layers.py", 5),
                        evidence=("It comes from models/gpt/layers.py:7.",))  # fmt: skip
    assert [line for line in lines if "layers" in line] == [
        "--> models/bert/layers.py:3", "--> models/bert/layers.py:5", "note: It comes from models/gpt/layers.py:7."
    ]  # fmt: skip


def test_what_has_no_folders_or_short_ones_stays() -> None:
    files = ("train.py", "src/train_all.py", "Cell In[3]", "<string>")
    lines = report_with(*(Place(file, line) for file in files for line in (3, 5)))
    assert [line for line in lines if line.startswith("-->")] == [f"--> {file}:{at}" for file in files for at in (3, 5)]
