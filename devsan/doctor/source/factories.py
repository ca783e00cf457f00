"""What creates tensors, and where; what uses and chooses GPUs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import batches
from devsan.doctor.source.events import Chooses, Draws, UsesGpu
from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.places import CURRENT, HOST, NOWHERE, Where, read_device
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


def made(run: Interpreter, name: str, given: Arguments) -> Value:
    """Returns what a factory such as torch.zeros creates."""
    asked = given.get("device")
    out = given.get("out")
    where = run.process.default if asked is None else place(run, asked, given.node)
    if out is not None or not given.named_whole:
        where = NOWHERE
    if asked is not None:
        uses(run, given.node, where, run.source.shown(given.named_nodes.get("device", given.node)))
    generator = given.get("generator")
    if isinstance(generator, Generator) and _other_kind(generator.where, where):
        run.tell(Draws(given.node, run.functions, generator=generator, where=where))
    shape = given.get("size", 0)
    empty = isinstance(shape, Sequence) and shape.items == ()
    return Tensor(
        where, name == "scalar_tensor" or empty, given.node, run.calls, run.peers(), "made",
        leaf="requires_grad" in given.named, by_default=asked is None and run.process.default != HOST,
    )  # fmt: skip


def _other_kind(one: Where, other: Where) -> bool:
    return {one.kind, other.kind} == {"host", "gpu"}


def from_data(run: Interpreter, name: str, given: Arguments) -> Value:
    """Returns what torch.tensor and its like create."""
    data = given.get("data", 0)
    asked = given.get("device")
    scalar: bool | None = None
    where = run.process.default
    if isinstance(data, Const):
        scalar = True
    elif isinstance(data, Sequence):
        scalar = False
        if isinstance(data.any(), Tensor):
            where = NOWHERE
    elif isinstance(data, Tensor):
        scalar, where = data.scalar, data.where
    elif name != "tensor":
        where = NOWHERE  # as_tensor of something that is a tensor stays where it is
    if asked is not None:
        where = place(run, asked, given.node)
        uses(run, given.node, where, run.source.shown(given.named_nodes.get("device", given.node)))
    return Tensor(
        where, scalar, given.node, run.calls, run.peers(), "made",
        leaf="requires_grad" in given.named, by_default=asked is None and run.process.default != HOST,
    )  # fmt: skip


def device(run: Interpreter, given: Arguments) -> Value:
    """Returns what torch.device(...) is."""
    kind, number = given.get("type", 0), given.get("index", 1)
    if number is not None and kind == Const("cuda"):
        if isinstance(number, Const) and type(number.value) is int:
            return Device(Where("gpu", number.value))
        return Device(Where("value", text=run.source.shown(given.node)))
    return UNKNOWN if kind is None else Device(place(run, kind, given.node))


def place(run: Interpreter, value: Value, node: ast.AST) -> Where:
    """Returns the place that an argument ``device`` names."""
    if isinstance(value, Device):
        return current(run) if value.where == CURRENT else value.where
    if isinstance(value, Const):
        if value.value is None:
            return run.process.default
        if isinstance(value.value, str):
            where = read_device(value.value)
            return current(run) if where == CURRENT else where
        if type(value.value) is int:
            return Where("gpu", value.value)
    return NOWHERE


def current(run: Interpreter) -> Where:
    """Returns the current GPU: by its number, where the program has chosen it by one."""
    chosen = run.process.current
    return chosen if chosen is not None and chosen.kind == "gpu" and chosen.index is not None else CURRENT


def uses(run: Interpreter, node: ast.AST, where: Where, text: str) -> None:
    """CUDA is used, if ``where`` is a GPU."""
    if where.kind != "gpu":
        return
    run.tell(UsesGpu(node, run.functions, where=where, chosen=run.process.chosen, text=text,
                     guarded=run.guards > 0, visible=run.process.visible, caught=run.forgiving > 0))  # fmt: skip
    if run.process.used is None:
        run.process = replace(run.process, used=node)


def names(run: Interpreter, node: ast.AST, places: Iterable[Where]) -> None:
    """A call names GPUs, which may be more than the program sees."""
    seen = run.process.visible.count
    for where in places:
        if seen is not None and where.kind == "gpu" and (where.index or 0) >= seen:
            uses(run, node, where, run.source.shown(node))


def choose(run: Interpreter, node: ast.AST, where: Where) -> None:
    """The current GPU is chosen."""
    run.tell(Chooses(node, run.functions, where=where, guarded=run.guards > 0, visible=run.process.visible,
                     caught=run.forgiving > 0))  # fmt: skip
    run.process = replace(run.process, chosen=run.process.chosen or node, current=where)


def loader(run: Interpreter, given: Arguments) -> Value:
    """Returns a DataLoader: it gives CPU tensors where its dataset is known, or the function that collates."""
    loader = Object(State("torch.utils.data.DataLoader"))
    generator = given.get("generator")
    if isinstance(generator, Generator) and generator.where.kind == "gpu" and given.get("shuffle") == Const(True):
        # The sampler draws a permutation on the host (torch/utils/data/sampler.py, RandomSampler).
        run.tell(Draws(given.node, run.functions, generator=generator, where=HOST))
    element = batches.of_loader(run, given)
    loader.state.uncertain = element is None or not given.whole
    if element is not None:
        loader.state.attributes["element"] = element
    return loader
