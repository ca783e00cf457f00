"""Where an expression was before changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from seeded import change, laboratory, quiet, script

from devsan.fix.change import applied
from devsan.fix.search import search
from devsan.fix.span import span_before

TEXT = "both = one(a, b), one(c, b)\n"


def frame(path: Path, text: str, expression: str) -> dict[str, object]:
    """The frame of an expression in ``text``."""
    before = text[: text.index(expression)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return {"path": str(path), "line": line, "column": column, "end_line": line, "end_column": column + len(expression)}


def test_edits_of_the_line_before_and_inside_are_taken_back(tmp_path):
    path = script(tmp_path, TEXT)
    changes = (change(path, ("one(a, b)", "one(a.cuda(), b)")), change(path, ("both", "import os\nboth")))
    text = "import os\nboth = one(a.cuda(), b), one(c, b)\n"
    for before, after in (("one(a, b)", "one(a.cuda(), b)"), ("one(c, b)", "one(c, b)")):
        found = span_before(frame(path, text, after), changes)
        want = frame(path, TEXT, before)
        assert found == (want["path"], want["line"], want["column"], want["end_column"])


def test_each_change_sees_what_the_one_before_left(tmp_path):
    path = script(tmp_path, TEXT)
    first = change(path, ("one(a, b)", "one(a.cuda(), b)"))
    path.write_text(applied((first,))[str(path)], encoding="utf-8")
    second = change(path, ("one(c, b)", "one(c, b.cuda())"))
    text = applied((second,))[str(path)]
    want = frame(path, TEXT, "one(c, b)")
    found = span_before(frame(path, text, "one(c, b.cuda())"), (first, second))
    assert found == (want["path"], want["line"], want["column"], want["end_column"])


@pytest.mark.long
def test_the_next_expression_of_one_line_is_followed(tmp_path):
    script(
        tmp_path,
        "import torch\n\n\ndef reordered(cache, order):\n"
        "    return [(k.index_select(0, order), v.index_select(0, order)) for k, v in cache]\n\n\n"
        "layers = [torch.nn.Linear(2, 2, device=device) for device in ('cuda:0', 'cuda:1')]\n"
        "cache = [(each.weight * 1, each.weight * 2) for each in layers]\n"
        "for step in range(2):\n"
        "    order = cache[-1][0].sum(1).argsort()\n"
        "    cache = reordered(cache, order)\n"
        "print(sum(k.sum().item() + v.sum().item() for k, v in cache))\n",
    )
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    added = [edit.after for each in result.verified[0].changes for edit in each.edits]
    assert added == ["order.to(k.device)", "order.to(v.device)"]
    assert len(result.trials) < 24
