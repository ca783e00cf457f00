"""A model that a map placed, and an owner that moves its weights afterwards."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from devsan.fix.candidates import two_owners
from devsan.fix.change import texts
from devsan.fix.loading import Loading
from devsan.fix.placed_model import PlacedModel
from devsan.fix.source import source_of

LOADED = '''"""Loads."""

from __future__ import annotations

from transformers import AutoModel


def load(folder, gpu):
    model = AutoModel.from_pretrained(folder, device_map={"": gpu})
    return dispatch_model(model, {"": gpu}, force_hooks=True)
'''

HOOK = {"type": "AlignDevicesHook", "execution_device": "cuda:0", "offload": False, "owner": "accelerate"}


@pytest.fixture
def placed(tmp_path: Path) -> PlacedModel:
    path = tmp_path / "load.py"
    path.write_text(LOADED, encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    [call] = [call for call in calls if "from_pretrained" in source.segment(call)]
    facts: dict[str, Any] = {"modules": [{"path": "", "hooks": [HOOK]}], "placements": [], "expression": "model"}
    return PlacedModel(facts, Loading(source, call, "model"))


def after(change: Any) -> str:
    (text,) = texts(change.edits).values()
    return str(text)


def test_a_dispatch_that_moved_nothing_is_a_loading_too(placed: PlacedModel):
    assert [each.function for each in placed.loadings] == ["dispatch_model", "from_pretrained"]


def test_the_map_goes_or_names_the_gpu_of_the_rank(placed: PlacedModel):
    changes = [after(change) for change in two_owners._without_map(placed, 3)]
    assert "    return model\n" in changes[0]
    assert "device_map=None" in changes[1] and "dispatch_model" in changes[1]
    assert 'device_map={"": int(os.environ.get("LOCAL_RANK", 0))}' in changes[2]
    assert "annotations\n\nimport os\nfrom transformers" in changes[2]  # behind __future__, or it would not compile


def test_the_hooks_go_behind_the_last_call_that_hung_them(placed: PlacedModel):
    [change] = two_owners._without_hooks(placed)
    assert after(change).endswith(
        '    placed_model = dispatch_model(model, {"": gpu}, force_hooks=True)\n'
        "    from accelerate.hooks import remove_hook_from_submodules\n"
        "    remove_hook_from_submodules(placed_model)\n"
        "    return placed_model\n"
    )
