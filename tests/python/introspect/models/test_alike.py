"""Alike parts of a model have one name."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from devsan.introspect.models.alike import alike_names  # noqa: E402
from devsan.introspect.models.models import Tree  # noqa: E402


def block() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())


def test_members_of_one_class_share_a_name_and_others_keep_their_numbers():
    model = torch.nn.Module()
    model.layers = torch.nn.ModuleList(block() for _ in range(2))
    model.single = torch.nn.ModuleList([block()])
    assert alike_names(Tree(model, "model")) == {
        "": "", "layers": "layers", "single": "single", "single.0": "single.0", "single.0.0": "single.0.0",
        "single.0.1": "single.0.1", "layers.0": "layers.*", "layers.0.0": "layers.*.0", "layers.0.1": "layers.*.1",
        "layers.1": "layers.*", "layers.1.0": "layers.*.0", "layers.1.1": "layers.*.1",
    }  # fmt: skip


def test_blocks_among_other_modules_share_a_name():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), block(), block(), torch.nn.Linear(2, 2))
    names = alike_names(Tree(model, "model"))
    assert [names[path] for path in ("0", "1", "1.0", "2.1", "3")] == ["0", "1", "1.0", "2.1", "3"]
    names = alike_names(Tree(torch.nn.ModuleDict({"net": model}), "model"))
    assert [names[f"net.{path}"] for path in ("0", "1.0", "2.0", "3")] == ["net.0", "net.*.0", "net.*.0", "net.3"]


def test_a_path_of_numbers_alone_stays():
    names = alike_names(Tree(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)), "model"))
    assert names == {"": "", "0": "0", "1": "1"}
