"""What goes to a library on the wrong device is moved above the program's own call, under its own name."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODEL = """
import torch
from transformers import GPT2Config, GPT2Model
from transformers.tokenization_utils_base import BatchEncoding
model = GPT2Model(GPT2Config(n_layer=1, n_embd=32, n_head=2, vocab_size=64)).to("cuda:0")
def ids():
    return torch.randint(0, 64, (2, 8))
"""


@pytest.fixture
def edit(explained: Callable[[str, Path, int], Any], tmp_path: Path) -> Callable[[str], Any]:
    """Returns the first edit of the finding of a program with a model of transformers on cuda:0."""

    def run(text: str) -> Any:
        file = tmp_path / "program.py"
        file.write_text(MODEL + textwrap.dedent(text))
        edits = [fix.edit for fix in explained(file.read_text(), file, 2).findings[0].fixes if fix.edit is not None]
        return edits[0] if edits else None

    return run


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = ids()\nmodel(x)", ["x = x.to(model.device)", "model(x)"]),
        (
            "x, m = ids(), torch.ones(2, 8)\nout = model(input_ids=x, attention_mask=m)",
            ["x = x.to(model.device)", "m = m.to(model.device)", "out = model(input_ids=x, attention_mask=m)"],
        ),
        (
            "batch = {'input_ids': ids()}\nmodel(**batch)",
            ["batch = {key: value.to(model.device) for key, value in batch.items()}", "model(**batch)"],
        ),
        (
            "batch = BatchEncoding({'input_ids': ids()})\nmodel(**batch)",
            ["batch = batch.to(model.device)", "model(**batch)"],
        ),
        (
            "batch = {'x': ids(), 'name': 'first'}\nmodel(batch['x'])",
            ["batch['x'] = batch['x'].to(model.device)", "model(batch['x'])"],
        ),
    ],
    ids=["name", "names", "dictionary", "encoding", "element"],
)
def test_what_the_call_passes_on_is_moved_above_it(edit: Callable[[str], Any], text: str, lines: list[str]) -> None:
    found = edit(text)
    assert found.file.endswith("program.py") and found.before == lines[-1]
    assert found.after.splitlines() == lines


def test_the_model_of_another_library_has_no_device_of_its_own(edit: Callable[[str], Any]) -> None:
    found = edit("net = torch.nn.Sequential(model)\nx = ids()\nnet(x)")
    assert found is None or found.file.endswith("modeling_gpt2.py")  # the weight has no name where the call stands


def test_the_lines_of_a_function_keep_their_depth(edit: Callable[[str], Any], tmp_path: Path) -> None:
    body = "    return model(\n        x, attention_mask=mask)"
    found = edit(f"def step(x, mask):\n{body}\nstep(ids(), torch.ones(2, 8))")
    lines = (tmp_path / "program.py").read_text().splitlines()
    start = found.line - 1
    changed = found.after.splitlines()
    lines[start : start + len(found.before.splitlines())] = [lines[start][:4] + changed[0], *changed[1:]]
    assert "    x = x.to(model.device)\n    mask = mask.to(model.device)\n    return model(\n" in "\n".join(lines)
    compile("\n".join(lines), "program.py", "exec")


@pytest.mark.parametrize(
    "text",
    [
        "x = ids()\ndef call():\n    return model(x)\ncall()",  # a name that is not the function's to rebind
        "outs = [model(x) for x in (ids(), ids())]",
        "f = lambda x: model(x)\nf(ids())",
        "x = ids()\nif model(x): pass",
        "x = ids()\ny = model(x) if x is not None else 0",
        "model(ids())",
    ],
    ids=["global", "comprehension", "lambda", "condition", "expression", "no name"],
)
def test_what_no_line_above_can_move_has_no_edit_there(edit: Callable[[str], Any], text: str) -> None:
    found = edit(text)
    assert found is None or not found.file.endswith("program.py")
