"""Which part of a model keeps an activation, by the autograd graph alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devsan.introspect.models.models import Tree  # noqa: E402
from devsan.introspect.models.registry import Registry  # noqa: E402
from devsan.introspect.saved_activations import saved_activations  # noqa: E402


class Block(torch.nn.Module):
    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(4), torch.nn.Linear(4, 8, bias), torch.nn.Linear(8, 4, bias)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Net(torch.nn.Module):
    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(5, 4)
        self.blocks = torch.nn.ModuleList(Block(bias) for _ in range(3))
        self.head = torch.nn.Linear(4, 5)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def paths(model: Any, output: Any, wanted: Callable[[Any], bool] = lambda _: True) -> set[str]:
    found = saved_activations([output], Registry([Tree(model, "model")]))
    return {path for saved, path in found if not isinstance(saved, torch.nn.Parameter) and wanted(saved)}


@pytest.mark.parametrize("bias", [True, False])
def test_what_the_modules_of_a_model_keep(bias: bool) -> None:
    model = Net(bias)
    logits = model(torch.arange(5))
    assert paths(model, logits) == {"embed", "blocks.*", "blocks.*.norm", "blocks.*.up", "blocks.*.down", "head"}
    wide = paths(model, logits, lambda saved: saved.shape == (5, 8))
    assert wide == {"blocks.*", "blocks.*.down"}, "the input of gelu, which lies between up and down; its output"


def test_in_lower_precision_a_weight_is_still_its_modules() -> None:
    model = Net()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(torch.arange(5))
    wide = paths(model, logits, lambda saved: saved.shape == (5, 8))
    assert wide == {"blocks.*", "blocks.*.down"}


def test_what_lies_behind_the_last_module_is_left_out() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
    assert paths(model, model(torch.ones(2, 4)).exp().log()) == {"0", "2"}


def test_a_tensor_of_no_graph_and_a_model_that_did_not_compute_it() -> None:
    assert paths(Net(), torch.ones(3)) == set()
    assert paths(Net(), torch.nn.Linear(4, 4)(torch.ones(2, 4)).relu()) == set()
