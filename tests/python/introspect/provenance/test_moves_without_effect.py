"""Moves that moved nothing: what is read of the functions that have returned, and what is passed by."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Finding = Callable[[str], Any]


@pytest.fixture
def finding(explained: Callable[[str, Path, int], Any], tmp_path: Path) -> Finding:
    """Returns the first finding of how a program's text fails on two GPUs."""

    def run(text: str) -> Any:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(text))
        return explained(file.read_text(), file, 2).findings[0]

    return run


def said(finding: Any) -> str:
    return " ".join(str(each) for each in finding.evidence)


def test_the_result_is_dropped_where_the_tensor_was_made(finding: Finding):
    found = finding("""
        import torch
        def table(device):
            rows = torch.ones(3, device="cuda:0")
            rows.to(device)  # for the second stage
            return rows * 2
        x = table("cuda:1") + 1
        x + torch.ones(3, device="cuda:1")
    """)
    assert found.code == "DV103"
    assert "`rows` was moved, at program.py:5" in said(found)
    assert found.fixes[0].edit is None  # the comment is kept: a person writes it


def test_the_host_is_told_of_the_helper_too(finding: Finding):
    found = finding("""
        import torch
        def collate(items, device):
            batch = {"x": torch.stack(items), "y": torch.ones(2)}
            for key, value in batch.items():
                value.to(device)
            return batch
        batch = collate([torch.ones(3), torch.ones(3)], "cuda:1")
        batch["x"] @ torch.ones(3, device="cuda:1")
    """)
    assert found.code == "DV103"
    assert "`value` was moved, at program.py:6" in said(found)
    assert next(fix.edit.after for fix in found.fixes if fix.edit) == "batch[key] = value.to(device)"


@pytest.mark.parametrize(
    "statement", ["x.to('cuda:0')", "x.to(torch.float64)", "x.cpu()", "if False:\n        y = x.to('cuda:1')"]
)
def test_a_move_to_another_place_or_of_a_dtype_is_passed_by(finding: Finding, statement: str):
    found = finding(f"""
import torch
def made():
    x = torch.ones(3, device="cuda:0")
    {statement}
    return x
x = made()
x + torch.ones(3, device="cuda:1")
""")
    assert found.code != "DV103"


def test_what_moves_in_place_is_passed_by(finding: Finding):
    found = finding("""
        import torch
        class Pack:
            def __init__(self, device):
                self.scale = torch.ones(3, device=device)
                self.extra = torch.ones(3, device=device)
                self.net = torch.nn.Linear(3, 3)
            def to(self, device):
                self.net.to(device)
                for part in vars(self).values():
                    if isinstance(part, torch.nn.Module):
                        part.to(device)
                self.extra = self.extra.to(device)
                return self
        pack = Pack("cuda:0")
        pack.to("cuda:1")
        pack.scale * torch.ones(3, device="cuda:1")
    """)
    assert "discarded" not in said(found)


def test_a_list_of_names_counts_where_it_has_the_name(finding: Finding):
    text = """
        import torch
        class Pack:
            NAMES = ("{name}",)
            def __init__(self):
                self.scale = torch.ones(3, device="cuda:0")
                self.other = torch.ones(3, device="cuda:0")
            def to(self, device):
                for name in self.NAMES:
                    getattr(self, name).to(device)
                return self
        pack = Pack().to("cuda:1")
        pack.scale * torch.ones(3, device="cuda:1")
    """
    assert "discarded" in said(finding(text.format(name="scale")))
    assert "discarded" not in said(finding(text.format(name="other")))


IDLE = """
    import torch
    from torch import nn
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3).to("cuda:0"), nn.Linear(3, 3).to("cuda:1")
        @property
        def device(self):
            return next(self.parameters()).device
        def forward(self, x):
            beside = self.second(x.to("cuda:1"))
            y = self.first(x.to("cuda:0")).{move}
            return y.view(-1) + beside.flatten()
    Two()(torch.ones(2, 3))
"""


def test_a_move_to_where_it_was_is_the_last_word(finding: Finding):
    found = finding(IDLE.format(move="to(self.device)"))
    assert found.code == "DV101"
    assert "`y` was sent to `self.device`, at program.py:13, which is cuda:0, where it already was" in said(found)
    assert "`self.device` is `next(self.parameters()).device`, at program.py:10." in said(found)
    assert found.fixes[0].edit.after == 'y = self.first(x.to("cuda:0")).to(beside.device)'


@pytest.mark.parametrize("move", ["to(self.first.weight.device)", "to(torch.float32)", "relu()"])
def test_the_device_of_a_tensor_is_no_word_of_the_programs(finding: Finding, move: str):
    assert "moved nothing" not in said(finding(IDLE.format(move=move)))


def test_a_move_that_moved_is_not_said_to_have_moved_nothing(finding: Finding):
    found = finding("""
        import torch
        class Keeper:
            def __init__(self):
                self.device = torch.device("cuda:0")
            def take(self, x):
                x = x.to(self.device)
                return x + torch.ones(3, device="cuda:1")
        Keeper().take(torch.ones(3))
    """)
    assert "moved nothing" not in said(found)


def test_a_generator_is_named_and_who_was_given_it(finding: Finding):
    found = finding("""
        import torch
        from torch.utils.data import DataLoader
        class Trial:
            def __init__(self):
                self.noise = torch.Generator("cuda:1")
                self.loader = DataLoader(torch.ones(4), shuffle=True, generator=self.noise)
            def run(self):
                return list(self.loader)
        Trial().run()
    """)
    assert found.code == "DV111"
    assert "`self.noise` was made on cuda:1, at program.py:6." in said(found)
    assert "`self.noise` was given to `DataLoader`, at program.py:7" in said(found)
    assert "generator=torch.Generator().manual_seed(self.noise.initial_seed()))" in found.fixes[0].edit.after


def test_a_loop_that_gives_its_variable_what_it_has_moved_keeps_nothing(finding: Finding):
    found = finding("""
        import torch
        def total(batch):
            for t in batch:
                t["y"] @ torch.ones(3, device="cuda:1")
        batch = [{"x": torch.ones(2), "y": torch.ones(3)} for _ in range(2)]
        for t in batch:
            t = {key: value.to("cuda:1") for key, value in t.items()}
        total(batch)
    """)
    assert found.code == "DV103"
    assert "`t` was moved, at program.py:8" in said(found)
