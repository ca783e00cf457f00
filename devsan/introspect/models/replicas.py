"""The operands of a failure in another thread, of which only the text of the traceback is left.

DataParallel's replicas and a DataLoader's workers fail elsewhere; torch raises the exception again with the original
traceback as text. Its innermost line of the program is parsed; names are looked up in the modules of the models.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.scopes import methods_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.frames.values import MISSING, Step, part
from devsan.introspect.models.registry import Registry
from devsan.introspect.source.sources import nodes_in, tree_at

_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)', re.MULTILINE)


def place_in_text(text: str) -> tuple[str, int, str] | None:
    """Returns file, line and function of the innermost frame of the program in an "Original Traceback", or None."""
    _, found, original = text.partition("Original Traceback")
    places = (
        [(each["file"], int(each["line"]), each["function"]) for each in _FRAME.finditer(original)] if found else []
    )
    own = [place for place in places if package_of(place[0]) not in ("torch", "python")]
    return own[-1] if own else None


# How Python's operators are called in torch.
_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.MatMult: "matmul", ast.Pow: "pow",
              ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}  # fmt: skip
_INPUTS = frozenset({"input", "hx", "mat1", "query", "key", "value", "index", "indices"})  # not weights
_PRODUCTS = frozenset({"matmul", "mm", "bmm", "mv", "addmm", "dot"})


def name_operands(
    operands: Sequence[Tracked], place: tuple[str, int, str], registry: Registry, op: str = ""
) -> dict[int, str]:
    """Returns the source's names of ``operands``, by their number, and gives those that a module keeps their tensor.

    Args:
        operands: of the failing operation.
        place: file, line and function of the program where it failed.
        registry: of the program's models.
        op: the operator, "aten::div.Tensor"; "" where it is not known.
    """
    tree = tree_at(place[0])
    pieces = _operation(tree, place[1], len(operands), op) if tree is not None else []
    if not pieces and tree is not None:
        return _given_to_module(tree, place[1], operands)
    names: dict[int, str] = {}
    for number, (operand, piece) in enumerate(zip(operands, pieces, strict=False)):
        names[number] = ast.unparse(piece)
        for tensor in _kept(piece, place, registry):
            operand.value = tensor
    return names


def _operation(tree: ast.AST, line: int, count: int, op: str) -> list[ast.expr]:
    """The operands of the only operation of ``line`` that has so many; of several the one that is ``op``."""
    name = op.removeprefix("aten::").partition(".")[0].rstrip("_")
    imported = _imported(tree)
    found: list[tuple[str, list[ast.expr]]] = []
    for node in nodes_in(tree, ast.BinOp, ast.AugAssign, ast.Call):
        if node.lineno > line or (node.end_lineno or 0) < line:
            continue
        if isinstance(node, ast.BinOp) and node.lineno == line:
            found.append((_OPERATORS.get(type(node.op), ""), [node.left, node.right]))
        elif isinstance(node, ast.AugAssign):
            found.append((_OPERATORS.get(type(node.op), ""), [node.target, node.value]))
        elif isinstance(node, ast.Call) and node.lineno == line:
            of = node.func.value if isinstance(node.func, ast.Attribute) else None
            receiver = [of] if of is not None and getattr(of, "id", "") not in imported else []
            given = [*node.args, *(word.value for word in node.keywords)]
            called = getattr(node.func, "attr", getattr(node.func, "id", "")).rstrip("_")
            found.append((called, given if len(given) == count else [*receiver, *given]))
    fitting = [(word, pieces) for word, pieces in found if len(pieces) == count]
    if len(fitting) > 1:
        fitting = [each for each in fitting if each[0] == name or (each[0] in _PRODUCTS and name in _PRODUCTS)]
    return fitting[0][1] if len(fitting) == 1 else []


def _imported(tree: ast.AST) -> set[str]:
    """What the file calls the modules and functions that it imports."""
    imports = nodes_in(tree, ast.Import, ast.ImportFrom)
    return {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}


def _given_to_module(tree: ast.AST, line: int, operands: Sequence[Tracked]) -> dict[int, str]:
    """The arguments of the only call of a module of ``self`` in ``line``, for the operands that are its inputs."""
    imported = _imported(tree)
    every = [node for node in nodes_in(tree, ast.Call) if node.lineno == line]
    calls = [
        node for node in every
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "self"
    ]  # fmt: skip
    if any(isinstance(node.func, ast.Name) and node.func.id not in imported for node in every):
        return {}  # `head(x)` may be a module as well
    inputs = [number for number, each in enumerate(operands) if (each.role or "").partition("[")[0] in _INPUTS]
    if len(calls) != 1 or any(isinstance(each, ast.Starred) for each in calls[0].args):
        return {}
    return {number: ast.unparse(piece) for number, piece in zip(inputs, calls[0].args, strict=False)}


def _kept(piece: ast.expr, place: tuple[str, int, str], registry: Registry) -> list[Any]:
    """The tensor that ``self.x`` is in the module whose method the line is in."""
    if not isinstance(piece, ast.Attribute) or not isinstance(piece.value, ast.Name) or piece.value.id != "self":
        return []
    for tree in registry.trees:
        for module in tree.modules.values():
            if is_module(module) and any(_covers(code, place) for code in methods_of(type(module))):
                held = part(module, Step(piece.attr, is_attribute=True))
                if held is not MISSING and is_tensor(held):
                    return [held]
    return []


def _covers(code: Any, place: tuple[str, int, str]) -> bool:
    lines = [line for _, _, line in code.co_lines() if line]
    return bool(code.co_filename == place[0] and lines and min(lines) <= place[1] <= max(lines))
