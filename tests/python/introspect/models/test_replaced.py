"""The statement that put a tensor in the place of a module's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from devsan import core
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.models.replaced import replaced_at, replaced_where_made
from devsan.introspect.source.sources import tree_at

NORM = """
from torch import nn
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = data
    def {method}(self, data):
        {statement}
class Other:
    def fit(self, data):
        self.mean = data
{after}
"""


@pytest.mark.parametrize(
    ("source", "function", "is_replaced"),
    [
        ("block.scale = torch.full((8,), 0.5)", "main", True),
        ("self.scale = torch.ones(8)", "Norm.reset", True),
        ("self.scale = torch.ones(8)", "Norm.__init__", False),
        ("self.scale = torch.ones(8)", "Statistics.reset", False),  # no module of that class
        ("scale = torch.ones(8)", "main", False),
        ("block.scale = (", "main", False),
    ],
)
def test_replaced_where_made(source: str, function: str, is_replaced: bool) -> None:
    holder = type("Norm", (torch.nn.Module,), {})()
    frame = core.Frame(file="train.py", function=function, source=source)
    assert replaced_where_made(frame, holder, "0.scale") is is_replaced


@pytest.mark.parametrize(
    ("method", "statement", "after", "source"),
    [
        ("fit", "self.mean = data", "", "self.mean = data"),
        ("fit", "self.mean.data = data", "", "self.mean.data = data"),
        ("fit", "pass", "model.norm.mean = data", "model.norm.mean = data"),
        ("fit", "pass", "model.load_state_dict(state, assign=True)", "model.load_state_dict(state, assign=True)"),
        ("fit", "self.mean = data", "model.load_state_dict(state, assign=True)", "self.mean = data"),
        ("fit", "pass", "model.load_state_dict(state)", ""),
        ("fit", "pass", "model.norm.std = data", ""),
        ("fit", "pass", "other.mean = data", ""),
        (
            "fit",
            "pass",
            "for name, old in net.named_buffers():\n    setattr(copy, name, old)",
            "setattr(copy, name, old)",
        ),
        (
            "fit",
            "pass",
            "for name, old in net.named_buffers():\n    copy._buffers[name] = old",
            "copy._buffers[name] = old",
        ),
        ("fit", "pass", "for name, old in net.named_parameters():\n    setattr(copy, name, old)", ""),
        ("fit", "pass", "for name, old in net.named_buffers():\n    setattr(copy, 'other', old)", ""),
        ("fit", "pass", "for () in net.named_buffers():\n    pass", ""),
        ("fit", "pass", "def given(trainer, *, module):\n    module.mean = data", "module.mean = data"),
        (
            "fit",
            "pass",
            "def end(trainer, module):\n    module.mean = data",
            "",
        ),  # of the model itself, not of its norm
        ("fit", "pass", "norm._buffers['mean'] = data", "norm._buffers['mean'] = data"),
        ("fit", "self.mean = data", "model.norm.mean = data", ""),  # which of the two came last is not known
        ("__init__", "self.mean = data", "", ""),
    ],
)
def test_replaced_at(tmp_path: Path, method: str, statement: str, after: str, source: str) -> None:
    file = tmp_path / "norms.py"
    file.write_text(NORM.format(method=method, statement=statement, after=after), encoding="utf-8")
    holder = type("Norm", (torch.nn.Module,), {})()
    tree = tree_at(str(file))
    assert tree is not None
    found = replaced_at(holder, "norm.mean", Spot(str(file), "<module>", tree, 1), "given" in after)
    assert (found.source if found is not None else "") == source
