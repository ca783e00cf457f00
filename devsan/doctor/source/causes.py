"""Why two tensors of the running program are apart, where the program's own words say it: a cache, a total, a block.

The words are those of the codes' manifests, by which the report of a run goes too, so that both name one cause.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from devsan.diagnostics.codes import words_of
from devsan.doctor.source.events import Cause, TensorInput
from devsan.doctor.source.objects import Object
from devsan.doctor.source.places import HOST
from devsan.doctor.source.values import Tensor

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter

_CACHE = words_of("kv-cache")
_STATE = re.compile(
    "|".join(
        (*_CACHE["parts"], *_CACHE["indices"], rf"(?:\b|_)(?:{'|'.join((*_CACHE['holders'], *_CACHE['vague']))})\b")
    ),
    re.IGNORECASE,
)
_ADAPTER = re.compile("|".join(words_of("sidecar-state")["adapters"]), re.IGNORECASE)
_TOTAL = re.compile(r"total|running|accum|sum|correct|count|num_|epoch|loss|hits|meter", re.IGNORECASE)
_OF_PARTS = ("placed", "weight", "parameter", "computed", "outputs")


def of_program(run: Interpreter, node: ast.AST, offending: TensorInput, other: TensorInput) -> Cause | None:
    """Returns why two tensors are apart; None where nothing says so."""
    if offending.tensor.by_default or other.tensor.by_default or offending.tensor.how == "copied":
        return None
    across = offending.tensor.where.kind == "gpu" and other.tensor.where.kind in ("gpu", "part")
    if across and re.search(r"past|kv", offending.tensor.kept):
        return "generation"
    if offending.tensor.kept and offending.tensor.where.kind == "gpu":
        return "cached"
    if across and _is_state(run, node, offending, other):
        return "generation"
    if offending.tensor.plain:
        return None
    if offending.tensor.how in _OF_PARTS and other.tensor.where.kind != "host" and _in_adapter(run, offending):
        return "sidecar"
    if across and offending.tensor.how in _OF_PARTS and other.tensor.how in _OF_PARTS and _in_split_block(run):
        return "split"
    if _is_total(run, node, offending.tensor, other.tensor):
        return "total"
    return None


def _is_state(run: Interpreter, node: ast.AST, offending: TensorInput, other: TensorInput) -> bool:
    source = run.source
    if _STATE.search(" ".join((source.shown(offending.node), source.shown(other.node)))):
        return True
    statement = source.statement(node)
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Return | ast.Expr)
    if statement is not None and simple and _STATE.search(source.shown(statement, 200)):
        return True
    for operand in (offending, other):
        made = operand.tensor.made
        for around in source.parents(made) if made is not None else ():
            if isinstance(around, ast.FunctionDef | ast.ClassDef) and re.search(
                "cache|initial_state|init_state", around.name, re.IGNORECASE
            ):
                return True
    return False


def _in_adapter(run: Interpreter, offending: TensorInput) -> bool:
    """Whether a part that was added beside a layer is what stayed behind: by the names that adapters have."""
    owner = next((frame.owner for frame in reversed(run.frames) if frame.owner is not None), None)
    holder = run.frames[-1].scope.names.get("self") if run.frames else None
    beside = isinstance(holder, Object) and any(
        isinstance(each, Object) and each.state.is_module for each in holder.state.attributes.values()
    )
    own = beside and owner is not None and owner.is_module and _ADAPTER.search(owner.name) is not None
    return own or _ADAPTER.search(run.source.shown(offending.node)) is not None


def _in_split_block(run: Interpreter) -> bool:
    """Whether the innermost call is a method of a module whose parts a device map has put apart."""
    holder = run.frames[-1].scope.names.get("self") if run.frames else None
    if not isinstance(holder, Object):
        return False
    model = holder.state.root[0] if holder.state.root is not None else holder
    return model.state.map is not None and bool(model.state.map.entries)


def _is_total(run: Interpreter, node: ast.AST, offending: Tensor, other: Tensor) -> bool:
    both = offending.where.kind == "gpu" and other.where.kind == "gpu"
    if both and offending.scalar is True and other.scalar is True:
        return True
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and other.scalar is not False:
        named = _TOTAL.search(run.source.shown(node.target)) is not None
        return named and (both or (offending.where == HOST and offending.how == "made" and other.how != "weight"))
    return False
