"""A page of each state that a run, or a sweep, ends in: what a test of the looks goes through."""

from __future__ import annotations

from typing import Any

from devsan.render.html import render, sweep
from devsan.sweep.result import CellResult, Check, Group, GroupFix, SweepResult
from pages import documents

LONG = (
    "loss = self.loss_function(hidden_states_of_the_last_layer.reshape(-1, hidden_states_of_the_last_layer.size(-1)), "
    "labels_of_the_batch.reshape(-1))"
)
ENDLESS = f"loss = self.loss_function({', '.join(f'weights_of_part[{number}]' for number in range(40))}, labels)"


def with_line(text: str, operand: str) -> documents.Document:
    """A finding whose failing line is ``text``; of it ``operand``, which stands last, is in the wrong place."""
    found = documents.finding()
    start = text.rindex(operand) + 1
    site = found["sites"][0]
    site["lines"] = [{"line": 88, "text": text}]
    site["labels"] = [
        {"line": 88, "column": text.index("(") + 2, "end_column": text.index(",") + 1,
         "texts": ["cuda:1  float32[6,10]  (input)"], "offending": False},
        {"line": 88, "column": start, "end_column": start + len(operand), "texts": ["cuda:0  int64[6]  (target)"],
         "offending": True},
    ]  # fmt: skip
    return found


def out_of_memory() -> documents.Document:
    """A run that filled its first GPU."""
    at_peak = documents.peak("cuda:0")
    memory = {
        "device": "cuda:0", "requested": 1 << 30, "tried": 1 << 30, "total": 24 << 30, "free": 1 << 29,
        "process": 23 << 30, "others": 0, "allowed": 0, "allocated": at_peak["allocated"],
        "reserved": at_peak["reserved"], "expandable_segments": False, "parts": at_peak["parts"], "elsewhere": [],
    }  # fmt: skip
    fix = {"kind": "configuration", "text": "take a smaller batch", "confidence": "likely", "edits": []}
    found = documents.finding(
        code="DV501", name="out-of-memory", title="", headline="cuda:0 is out of memory", kind="memory", operands=[],
        involved=[], fixes=[fix], naive_fix="", memory=memory, sentence="CUDA out of memory. Tried to allocate 1 GiB.",
    )  # fmt: skip
    return documents.run(findings=[found])


def ranks() -> list[documents.Document]:
    """Two ranks of a job: one failed, and the other waited for it."""
    job = documents.job(2, killed=1)
    job["findings"] = [documents.finding(ranks=[1], rank="rank 1", notes=["rank 0 waits in all_reduce"])]
    failed = documents.run(rank=1, world_size=2, job=job)
    return [documents.run(rank=0, world_size=2, findings=[], models=[], job=job), failed]


def swept() -> SweepResult:
    """A sweep with two groups: one with a verified fix, one with the end of its output."""
    found = documents.finding()

    def cell(gpus: str, group: str, status: Any) -> CellResult:
        return CellResult(gpus, f"gpus={gpus}", {"gpus": gpus}, status, 1.0, 0, "", "", group)

    edit = found["fixes"][0]["edits"][0]
    head = "--- a/modeling.py\n+++ b/modeling.py\n@@ -88,1 +88,1 @@\n"
    diff = f"{head}-    {edit['before']}\n+    {edit['after']}\n"
    verified = {"status": "verified", "texts": [found["fixes"][0]["text"]], "diff": diff}
    fix = GroupFix("gpus=2", {"fixes": [verified], "patch": None}, (Check("gpus=4", "verified"),), ())
    groups = (
        Group("g1", "failed", found["code"], found["name"], found["headline"], "modeling.py:88",
              ("gpus=2", "gpus=4"), "gpus=2", found, "", fix),
        Group("g2", "killed", "", "", "killed by SIGKILL", "", ("gpus=8",), "gpus=8", None, "last words"),
    )  # fmt: skip
    cells = (
        cell("1", "", "passed"), cell("2", "g1", "failed"), cell("4", "g1", "failed"), cell("8", "g2", "killed"),
        cell("16", "", "skipped"), cell("32", "", "not run"),
    )  # fmt: skip
    axes = {"gpus": tuple(each.key for each in cells)}
    return SweepResult("/x/sweep.toml", ("train.py",), "/x", axes, cells, groups, 5.0)


def pages(language: str = "") -> dict[str, str]:
    """Returns the pages by the names of their states."""
    inside = {**documents.LOSS, "module": "model.layers.4.mlp.part_3", "function": "Part_3.forward"}
    failed = documents.finding(stack=[documents.INSIDE, inside, documents.LOOP])
    uncaught = {"time": 2.5, "how": "exception", "exit_code": 1,
                "exception": {"type": "ValueError", "message": "no such file"}}  # fmt: skip
    finished = {**uncaught, "how": "finished", "exit_code": 0, "exception": None}
    runs = {
        "failed": [documents.run(findings=[failed], models=[documents.model(finding=failed["id"])])],
        "long": [documents.run(findings=[with_line(LONG, "labels_of_the_batch.reshape(-1)")])],
        "endless": [documents.run(findings=[with_line(ENDLESS, "labels")])],
        "several": [documents.run(findings=[documents.finding(), documents.finding(2, severity="warning")])],
        "ranks": ranks(),
        "out of memory": [out_of_memory()],
        "finished": [documents.run(findings=[], end=finished)],
        "uncaught": [documents.run(findings=[], end=uncaught)],
        "eight GPUs": [documents.run(gpus=8, models=[documents.model(16, 8)])],
    }
    made = {name: render(documents_of, language) for name, documents_of in runs.items()}
    return {**made, "sweep": sweep.render(swept(), language)}
