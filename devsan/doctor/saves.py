"""Where a training script writes the weights of its model itself, past the engine that shards them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.script_place import place_of

# Inside of it the parameters are whole on every rank.
_GATHERING = "GatheredParameters"


@dataclass(frozen=True)
class Save:
    """A save of a model's weights that nobody gathers.

    Attributes:
        owner: who shards the model: "deepspeed", "Trainer" or "accelerate".
        model: the model's expression.
        call: what is called of it, "state_dict" or "save_pretrained".
        place: of that call.
    """

    owner: str
    model: str
    call: str
    place: Place


def read_saves(tree: ast.Module, file: str) -> tuple[Save, ...]:
    """Returns the saves of ``tree`` whose model an engine was given in the same file, in order."""
    owners = _owners(tree)
    kept = {target.id: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
    found = []
    for node in _ungathered(tree.body):
        if not isinstance(node, ast.Call):
            continue
        for asked in _asked_for(node, kept):
            model = asked.func.value  # type: ignore[attr-defined]
            owner = _owner(model, owners)
            if owner:
                name = asked.func.attr  # type: ignore[attr-defined]
                found.append(Save(owner, ast.unparse(model), name, place_of(asked, file)))
    return tuple(sorted(set(found), key=lambda save: (save.place.line, save.place.column)))


def _asked_for(node: ast.Call, kept: dict[str, ast.expr]) -> Iterator[ast.Call]:
    """The calls that give ``node`` the weights, where it writes them: of ``state_dict``, or its own."""
    if _is_call(node, "save_pretrained"):
        if isinstance(node.func, ast.Attribute) and not any(
            keyword.arg in ("state_dict", None) for keyword in node.keywords
        ):
            yield node
    elif node.args and (_is_call(node, "save") or _is_call(node, "save_file")):
        written = node.args[0]
        if isinstance(written, ast.Name):
            written = kept.get(written.id, written)
        yield from (part for part in ast.walk(written) if _is_call(part, "state_dict"))  # type: ignore[misc]


def _owners(tree: ast.Module) -> dict[str, str]:
    """The expressions that are a model, and who shards it."""
    owners: dict[str, str] = {}
    for node in ast.walk(tree):
        if _is_call(node, "initialize"):
            owners.update(dict.fromkeys(_given(node, "model", 1), "deepspeed"))
        elif _is_call(node, "Trainer"):
            owners.update(dict.fromkeys(_given(node, "model", 0), "Trainer"))
    for target, _ in _results(tree, "initialize"):
        owners[target] = "deepspeed"
    for target, _ in _results(tree, "Trainer"):
        owners[f"{target}.model"] = "Trainer"
    for target, _ in _results(tree, "unwrap_model"):
        owners[target] = "accelerate"
    return owners


def _owner(model: ast.expr, owners: dict[str, str]) -> str:
    if _is_call(model, "unwrap_model"):
        return "accelerate"
    shown = ast.unparse(model)
    return owners.get(shown) or owners.get(shown.removesuffix(".module"), "")


def _results(tree: ast.Module, name: str) -> Iterator[tuple[str, ast.Call]]:
    """The targets to which the (first) result of a call of ``name`` is assigned."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_call(_first(node.value), name):
            for target in node.targets:
                first = target.elts[0] if isinstance(target, ast.Tuple | ast.List) and target.elts else target
                yield ast.unparse(first), _first(node.value)  # type: ignore[misc]


def _first(value: ast.expr) -> ast.expr:
    """``initialize(...)[0]`` is the engine, too."""
    return value.value if isinstance(value, ast.Subscript) else value


def _given(call: ast.AST, name: str, position: int) -> Iterator[str]:
    assert isinstance(call, ast.Call)
    for keyword in call.keywords:
        if keyword.arg == name and isinstance(keyword.value, ast.Name | ast.Attribute):
            yield ast.unparse(keyword.value)
    if len(call.args) > position and isinstance(call.args[position], ast.Name | ast.Attribute):
        yield ast.unparse(call.args[position])


def _is_call(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    last = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return last == name or (name == "Trainer" and last.endswith("Trainer"))


def _ungathered(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes below ``nodes`` that stand in no block of ``GatheredParameters``."""
    for node in nodes:
        if isinstance(node, ast.With) and any(_is_call(item.context_expr, _GATHERING) for item in node.items):
            continue
        yield node
        yield from _ungathered(list(ast.iter_child_nodes(node)))
