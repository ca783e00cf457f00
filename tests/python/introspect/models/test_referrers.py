"""What keeps a tensor, and what the source calls it: generation state, classes, lists, checkpoints, gradients."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.introspect.frames.error_match import recognize
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.models.replicas import _operation

CACHE = """
    import torch

    class LayerCache:
        def __init__(self):
            self.k = torch.zeros(2, 4, device="cuda:0")

    def attend(q, cache):
        k = cache.k[1, :2]
        return q * k

    attend(torch.ones(2, device="cuda:1"), LayerCache())
"""
RECORDED = """
    import torch

    class ActivationCache:
        def __init__(self):
            self.store = {"blocks.0.mlp": torch.zeros(4, device="cuda:0")}

    def patched(x, cache):
        value = cache.store["blocks.0.mlp"]
        return x + value

    patched(torch.ones(4, device="cuda:1"), ActivationCache())
"""
STATES = """
    import torch

    def cell(x, state):
        return x * state

    def generate(x):
        states = [torch.zeros(4, device="cuda:0") for _ in range(2)]
        for i in range(2):
            x = cell(x, states[i])

    generate(torch.ones(4, device="cuda:1"))
"""
CLASS = """
    import torch

    class Positions:
        table = None

        def of(self, n, device):
            if Positions.table is None:
                Positions.table = torch.ones(8, device=device)
            return Positions.table[:n]

        def add(self, x):
            pe = self.of(len(x), x.device)
            return x + pe

    positions = Positions()
    positions.add(torch.ones(4, device="cuda:0"))
    positions.add(torch.ones(4, device="cuda:1"))
"""
ANCHORS = """
    import torch

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.anchors = [torch.ones(4)]

        def forward(self, x, level):
            return x * self.anchors[level][None].flatten(1)

    Head().to("cuda:0")(torch.ones(2, 4, device="cuda:0"), 0)
"""


def operand(explained: Callable[[str, Path, int], Any], text: str, file: Path, name: str) -> Any:
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    explanation = explained(file.read_text(encoding="utf-8"), file, 2)
    operands = {each.best_name: each for each in explanation.facts.failure.operands}
    assert name in operands, list(operands)
    return operands[name]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        (CACHE, "k", "CACHE"),
        (RECORDED, "value", "LOCAL"),
        (STATES, "state", "CACHE"),
        (CLASS, "pe", "GLOBAL"),
        (ANCHORS, "self.anchors[level][None].flatten(1)", "ATTRIBUTE"),
    ],
)
def test_what_keeps_an_operand(
    explained: Callable[[str, Path, int], Any], text: str, name: str, kind: str, tmp_path: Path
):
    assert operand(explained, text, tmp_path / "program.py", name).kind.name == kind


def test_a_list_of_a_module_has_the_module_as_its_holder(explained: Callable[[str, Path, int], Any], tmp_path: Path):
    found = operand(explained, ANCHORS, tmp_path / "program.py", "self.anchors[level][None].flatten(1)")
    assert found.holder == "Head"


def test_what_resuming_put_into_an_object_is_the_checkpoints(
    explained: Callable[[str, Path, int], Any], tmp_path: Path
):
    program = """
        import io, torch
        class Normalizer:
            def __init__(self, std):
                self.std = std
            def load_state_dict(self, state):
                self.std = state["std"]
            def undo(self, x):
                return x * self.std
        def resume(normalizer, file):
            normalizer.load_state_dict(torch.load(file, map_location="cpu"))
        file = io.BytesIO()
        torch.save({"std": torch.ones(3)}, file)
        file.seek(0)
        normalizer = Normalizer(torch.ones(3, device="cuda:0"))
        resume(normalizer, file)
        normalizer.undo(torch.ones(3, device="cuda:0"))
    """
    placed = operand(explained, program, tmp_path / "program.py", "self.std").placement
    assert (placed.owner.name, placed.site.span.line) == ("torch.load", 11)


def test_a_gradient_that_is_assigned_has_the_names_of_the_source(
    explained: Callable[[str, Path, int], Any], tmp_path: Path
):
    program = """
        import torch
        def step(master, p):
            master.grad = p.grad.float()
        p = torch.ones(3, device="cuda:0", requires_grad=True)
        p.sum().backward()
        step(torch.ones(3, requires_grad=True), p)
    """
    operand(explained, program, tmp_path / "program.py", "master")
    operand(explained, program, tmp_path / "program.py", "p.grad.float()")


def test_the_only_argument_that_no_variable_holds_is_what_torch_hides(
    explained: Callable[[str, Path, int], Any], tmp_path: Path
):
    program = """
        import torch
        def score(q, bank):
            return torch.einsum("nc,ck->nk", [q, bank.clone().detach()])
        score(torch.ones(2, 3, device="cuda:0"), torch.ones(3, 4))
    """
    operand(explained, program, tmp_path / "program.py", "bank.clone().detach()")


@pytest.mark.long
def test_an_edit_asks_no_variable_of_torchs(explained: Callable[[str, Path, int], Any], tmp_path: Path):
    file = tmp_path / "program.py"
    file.write_text(
        textwrap.dedent("""
        import torch
        def layers(x, mask):
            for device in ("cuda:0", "cuda:1"):
                layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, device=device)
                x = layer(x.to(device), src_key_padding_mask=mask)
        layers(torch.ones(1, 3, 4), torch.zeros(1, 3, dtype=torch.bool).to("cuda:0"))
    """)
    )
    explanation = explained(file.read_text(), file, 2)
    edits = [fix.edit.after for fix in explanation.findings[0].fixes if fix.edit is not None]
    assert not [edit for edit in edits if "q.device" in edit], edits


def test_of_several_operations_of_a_line_the_operator_tells():
    tree = ast.parse("energy = torch.matmul(q, k.transpose(-1, -2)) / self.scale")
    quotient = _operation(tree, 1, 2, "aten::div.Tensor")
    assert [ast.unparse(piece) for piece in quotient] == ["torch.matmul(q, k.transpose(-1, -2))", "self.scale"]
    product = _operation(tree, 1, 2, "aten::bmm")
    assert [ast.unparse(piece) for piece in product] == ["q", "k.transpose(-1, -2)"]
    assert _operation(tree, 1, 2, "aten::add.Tensor") == []


@pytest.mark.parametrize(
    "words",
    [
        "The model has been loaded with `accelerate` and therefore cannot be moved to a specific device.",
        "It seems like you have activated a device mapping strategy on the pipeline which does",
        "It seems like you have activated sequential model offloading by calling `enable_sequential_cpu_offload`, but",
        "Calling `cuda()` is not supported for `8-bit` quantized models. Please use the model as it is",
        "You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than",
    ],
)
def test_libraries_that_refuse_a_second_owner(words: str):
    sentence = recognize(words)
    assert sentence is not None
    assert sentence.kind is Kind.PLACEMENT
