"""What the methods of a tensor give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import device_join, factories, torch_names
from devsan.doctor.source.definitions import Identity
from devsan.doctor.source.events import TensorInput, ToNumpy
from devsan.doctor.source.places import HOST, NOWHERE, Where
from devsan.doctor.source.values import (
    UNKNOWN,
    Const,
    Device,
    Generator,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_NO_TENSOR = frozenset({
    "size", "dim", "numel", "item", "tolist", "stride", "is_contiguous", "element_size", "data_ptr", "get_device",
    "storage", "untyped_storage", "backward", "register_hook", "nelement", "ndimension", "is_floating_point", "index",
    "keys", "items", "values", "get", "pop", "append", "lower", "split_with_sizes_copy",
    "storage_offset", "is_complex", "is_pinned", "is_shared", "type", "__len__", "count", "update", "format", "join",
})  # fmt: skip


def call(run: Interpreter, holder: Tensor, name: str, given: Arguments) -> Value:
    """Returns what ``holder.name(...)`` gives."""
    if name in ("to", "cuda", "cpu", "type_as", "pin_memory"):
        return _moved(run, holder, name, given)
    if name in ("numpy", "__array__"):
        if holder.where.kind == "gpu" and not run.forgiving:
            run.tell(ToNumpy(given.node, run.functions, tensor=holder))
        return UNKNOWN
    if name in ("get", "pop") and holder.how in ("loaded", "batch"):
        return holder  # a field of it
    if name in _NO_TENSOR:
        return UNKNOWN
    if name.startswith("new_") or name == "new":
        asked = given.get("device")
        where = holder.where if asked is None else factories.place(run, asked, given.node)
        return Tensor(where, False if name != "new_tensor" else None, given.node, run.calls, how="made")
    if name in ("requires_grad_", "detach", "clone", "contiguous", "float", "double", "half", "long", "int", "bool"):
        return replace(holder, leaf=name == "requires_grad_")
    if name in ("copy_", "set_", "fill_", "share_memory_"):
        return holder
    if name in ("chunk", "split", "tensor_split", "unbind") and not given.tensors():
        return _pieces(holder, name, given)
    operands = given.tensors()
    value: Value = device_join.meet(
        run, given.node, [TensorInput(holder, getattr(given.node.func, "value", given.node)), *operands],
        checked=name in torch_names.JOINED_METHODS,
    )  # fmt: skip
    if not isinstance(value, Tensor):
        return UNKNOWN
    value = replace(value, leaf=False)
    if name in torch_names.REDUCTIONS and given.get("dim", 0) is None:
        return replace(value, scalar=True)
    if name in torch_names.REDUCTIONS or name in torch_names.MAYBE_SCALAR:
        return replace(value, scalar=None if value.scalar is False else value.scalar)
    if name == "unsqueeze":
        return replace(value, scalar=False)
    return value


def _pieces(holder: Tensor, name: str, given: Arguments) -> Value:
    """``chunk(3)`` and its like: pieces that are where the whole is."""
    piece = replace(holder, leaf=False, scalar=None if name == "unbind" else holder.scalar)
    count = given.get("chunks", 0) if name == "chunk" else None
    if isinstance(count, Const) and type(count.value) is int and 0 < count.value <= 16:
        return Sequence((piece,) * count.value)
    return Sequence(None, piece)


def _moved(run: Interpreter, holder: Tensor, name: str, given: Arguments) -> Value:
    where = target(run, name, given)
    if where is None:
        return replace(holder, leaf=False)
    factories.uses(run, given.node, where, run.source.shown(given.node))
    if where == holder.where:
        return holder
    # A batch that is moved is still one: its fields are asked for by name.
    how = "batch" if holder.how in ("loaded", "batch") else "moved"
    return Tensor(where, holder.scalar, given.node, run.calls, how=how)


def target(run: Interpreter, name: str, given: Arguments) -> Where | None:
    """Returns where ``to``, ``cuda``, ``cpu`` or ``type_as`` moves; None where it moves nothing (a type)."""
    if name in ("cpu", "pin_memory"):
        return HOST if name == "cpu" else None
    asked = given.get("device", 0)
    if name == "cuda":
        return factories.current(run) if asked is None else factories.place(run, asked, given.node)
    if asked is None:
        asked = given.get("other")
    if isinstance(asked, Tensor):
        return asked.where
    if asked is None:
        return None if given.named and given.whole else NOWHERE
    if _is_type(asked):
        return None
    where = factories.place(run, asked, given.node)
    if where == NOWHERE and not isinstance(asked, Device | Const):
        text = run.source.shown(given.nodes[0] if given.nodes else given.named_nodes.get("device", given.node))
        # ``x.to(self.dtype)`` moves nothing; ``x.to(args.device)`` does, to one place that has a name.
        if "dtype" in text or text.startswith("torch."):
            return None
        if text.rpartition(".")[2] in ("device", "local_rank", "rank", "gpu", "dev", "device_id"):
            return Where("value", text=text)
    return where


def _is_type(value: Value) -> bool:
    name = getattr(value, "name", "")
    return isinstance(name, str) and name.startswith("torch.") and name.count(".") == 1 and name != "torch.device"


def of_generator(run: Interpreter, holder: Value, name: str) -> Value:
    """``torch.Generator(...).manual_seed(0)`` is the generator."""
    if isinstance(holder, Generator) and name in ("manual_seed", "set_state"):
        return holder
    return UNKNOWN


def elements(value: Value) -> Value:
    """Returns what a tensor or a list of tensors holds."""
    return value.any() if isinstance(value, Sequence) else value


__all__ = ["Identity", "call", "elements", "of_generator", "target"]
