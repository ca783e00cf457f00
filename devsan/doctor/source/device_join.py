"""Where tensors meet: what the result is, and whether they can."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import causes
from devsan.doctor.source.events import Cause, Meeting, TensorInput
from devsan.doctor.source.objects import Object
from devsan.doctor.source.places import HOST, NOWHERE, differ
from devsan.doctor.source.values import UNKNOWN, Tensor, Value
from devsan.doctor.source.values import Sequence as Items

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


def as_tensor(value: Value) -> Tensor | None:
    """Returns the tensor that ``value`` is, also where it is a weight of a mapped model."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Object) and value.state.root is not None:
        last = value.state.root[1].rpartition(".")[2]
        if last in ("weight", "bias", "data"):
            return Tensor(value.state.where, how="placed")
    return None


def meet(run: Interpreter, node: ast.AST, operands: Sequence[TensorInput], checked: bool = True) -> Value:
    """Returns the result of an operation on tensors, and tells where they cannot be joined.

    Args:
        run: who follows the program.
        node: the operation.
        operands: its tensors.
        checked: the operation wants all of them at one place.
    """
    if not operands:
        return UNKNOWN
    tensors = [operand.tensor for operand in operands]
    if checked and _compare(run, node, operands):
        return Tensor(NOWHERE, None)  # what fails once is said once
    # A CPU scalar joins the others; otherwise whoever is known decides.
    joined = [each for each in tensors if not (each.where == HOST and each.scalar is True)]
    known = [each.where for each in joined if each.where != NOWHERE]
    elsewhere = [where for where in known if where != HOST]
    where = (elsewhere or known or [NOWHERE])[0] if joined else HOST
    if where == HOST and any(each.where == NOWHERE for each in joined):
        # Whatever the other one is, it is a tensor; the host's may have no dimensions after all.
        where = NOWHERE
    scalar: bool | None = None
    if all(each.scalar is True for each in tensors):
        scalar = True
    elif any(each.scalar is False for each in tensors):
        scalar = False
    there = [each for each in tensors if each.where == where]
    if not there:
        return Tensor(where, scalar)
    # What is computed from a weight and something fresh is where the weight is on account of the weight.
    first = next((each for each in there if each.how in ("weight", "parameter", "computed")), there[0])
    # What is computed from weights is none, but is where they are.
    how = "computed" if first.how in ("weight", "parameter") else first.how
    kept = first.kept if len(tensors) == 1 else ""
    return replace(first, scalar=scalar, leaf=False, plain=_plain(tensors), how=how, kept=kept, of=None)


def _plain(tensors: Sequence[Tensor]) -> str:
    """What is computed from an attribute alone is the attribute's: a slice, a cosine."""
    names = {each.plain for each in tensors}
    return names.pop() if len(names) == 1 else ""


def index(run: Interpreter, node: ast.Subscript, holder: Tensor, index: Value) -> None:
    """``holder[index]``: a CPU index fits everywhere, another one has to be where the tensor is."""
    indices = index.items if isinstance(index, Items) and index.items is not None else (index,)
    at = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for value, place in zip(indices, at, strict=False):
        if isinstance(value, Tensor) and value.where != HOST and value.scalar is not True:
            _compare(run, node, [TensorInput(holder, node.value), TensorInput(value, place)])


def _compare(run: Interpreter, node: ast.AST, operands: Sequence[TensorInput]) -> bool:
    """Tells of the first pair that cannot be joined, and returns whether there is one."""
    if run.forgiving:
        return False
    for number, one in enumerate(operands):
        for other in operands[number + 1 :]:
            if not _joins(one.tensor, other.tensor):
                tell(run, node, one, other)
                return True
    return False


def _joins(one: Tensor, other: Tensor) -> bool:
    if not differ(one.where, other.where):
        return True
    for each in (one, other):
        # A CPU scalar joins the rest; one whose dimensions are not known might.
        if each.where == HOST and each.scalar is not False:
            return True
        # What a program brings to the host it wants there.
        if each.where == HOST and each.how == "moved":
            return True
    # A module's own tensors and a GPU that is written down: of one that was made for them only.
    if {one.where.kind, other.where.kind} == {"inputs", "gpu"}:
        return not any(each.how == "made" and each.where.kind == "gpu" and each.calls for each in (one, other))
    return False


def tell(run: Interpreter, node: ast.AST, one: TensorInput, other: TensorInput) -> None:
    """Tells that two tensors cannot be joined: which is the offending one, and why."""
    running = run.owner is None
    offending, right = (one, other) if _rank(one.tensor, running) >= _rank(other.tensor, running) else (other, one)
    cause = causes.of_program(run, node, offending, right) if running else None
    if cause is None:
        cause = _cause(run, offending, right.tensor)
    run.tell(Meeting(node, run.functions, offending=offending, other=right, cause=cause, owner=run.owner))


def _rank(tensor: Tensor, running: bool) -> int:
    """How likely a tensor is the one to change."""
    if tensor.kept and running:
        return 6
    if tensor.plain:
        return 5
    if tensor.by_default:
        return 4
    kinds = {"host": 3, "value": 2, "gpu": 1}
    return kinds.get(tensor.where.kind, 0)


def _cause(run: Interpreter, operand: TensorInput, right: Tensor) -> Cause:
    offending = operand.tensor
    if offending.by_default or right.by_default:
        return "default"
    if offending.plain:
        return "held"
    if offending.how == "copied":
        return "state"
    if offending.where.kind in ("value", "gpu") and right.where.kind == "part":
        return "value"
    if offending.where.kind == "gpu" and right.where.kind == "gpu":
        return "current" if None in (offending.where.index, right.where.index) and not run.replica else "value"
    in_module = run.owner is not None or any(frame.owner is not None and frame.owner.is_module for frame in run.frames)
    if offending.how in ("weight", "computed"):
        # A module that is checked for itself has moved all that it has registered.
        return "held" if run.owner is not None else "gap" if in_module else "boundary"
    if offending.how == "made":
        if _is_fresh(run, offending, right):
            return "fresh"
        if not offending.calls and in_module and _is_of_the_file(run, operand.node):
            return "held"
    return "boundary"


def _is_fresh(run: Interpreter, offending: Tensor, right: Tensor) -> bool:
    """Whether a tensor was created by the function that uses it, by what that calls, or by a module that passes it."""
    if not run.frames:
        return False
    here = run.frames[-1]
    if here.number in offending.calls:
        # A script's main that calls its model is the place where data enters.
        return here.owner is not None or right.how != "weight"
    return any(
        frame.number in offending.calls and frame.owner is not None and frame.owner.is_module for frame in run.frames
    )


def _is_of_the_file(run: Interpreter, node: ast.AST) -> bool:
    """Whether an operand is named by a name of the file, and is not what the function was given."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and bool(run.frames) and node.id not in run.frames[-1].scope.names
