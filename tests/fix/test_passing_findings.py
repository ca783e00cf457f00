"""Findings after which the program goes on by itself are no failures (NOTE [Passing findings])."""

from __future__ import annotations

import pytest
from seeded import laboratory, quiet, script

from devsan.fix.passing_findings import may_pass
from devsan.fix.search import search

CAUGHT = """\
import torch

one, other = (torch.ones(3, device=f"cuda:{gpu}") for gpu in (0, 1))


def added(x, y):
    try:
        return x + y
    except RuntimeError:
        return x + y.to(x.device)


print(added(one, other).sum().item())
"""
FAILS = "print((one * other).sum().item())\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_program_catches_is_no_failure(tmp_path, jobs):
    script(tmp_path, CAUGHT)
    with laboratory(tmp_path, "train.py", jobs=jobs) as found:
        result = search(found, quiet)
    assert result.trials == [] and result.failing is not None and result.failing.ended


@pytest.mark.long
def test_the_failure_behind_it_is_fixed(tmp_path):
    script(tmp_path, CAUGHT + FAILS)
    with laboratory(tmp_path, "train.py", jobs=1) as found:
        result = search(found, quiet)
    assert result.first is not None and "mul" in result.first.findings[0]["op"]
    assert result.verified and len(result.verified[0].changes) == 1


def test_a_handler_that_raises_catches_nothing(tmp_path):
    text = CAUGHT.replace("return x + y.to(x.device)", "raise")
    path = script(tmp_path, text)
    line = text.split("\n").index("        return x + y") + 1
    assert not may_pass({"stack": [{"path": str(path), "line": line}]})


GENERATOR = """\
import torch

generator = torch.Generator().manual_seed(0)
table = torch.ones(4).cumsum(0)
for step in range(2):
    noise = torch.randn(4, generator=generator, device="cuda")
    print((noise * table).sum().item())
"""


@pytest.mark.long
def test_what_ends_the_program_comes_first(tmp_path):
    """On one device the generator fits, so that the comparison shows the table alone."""
    script(tmp_path, GENERATOR)
    with laboratory(tmp_path, "train.py", jobs=2) as found:
        result = search(found, quiet)
    assert result.first is not None and result.first.findings[0]["code"] == "DV111"
    assert result.verified and len(result.verified[0].changes) == 2
