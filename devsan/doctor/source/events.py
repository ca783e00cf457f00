"""What the interpreter saw that a rule may have something to say about, in the order in which the program does it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from devsan.doctor.source.definitions import ClassFacts
from devsan.doctor.source.objects import Map, Object
from devsan.doctor.source.places import NOWHERE, Where
from devsan.doctor.source.values import Generator, Tensor
from devsan.doctor.source.visible import UNSET, Visible

# fresh     created beside what it meets, in a function of the model
# held      kept by a module as a plain attribute, or by the file
# value     placed by one device value, while a map spreads the other
# current   on the current GPU, while the other names one
# boundary  on the host, while the other was moved
# gap       the weight of a part that was not moved, while others were
# state     copied from a model's parameters before they moved
# default   the program changed torch's default device between the two
# cached    remembered from an earlier call, on another device
# generation keys, values and other generation state, and the layer that uses them
# split     parts of one block, which a device map has put apart
# sidecar   an adapter, and the layer that it stands beside
# total     a total, and what is added to it
Cause = Literal[
    "fresh", "held", "value", "current", "boundary", "gap", "state", "default", "cached", "generation", "split",
    "total", "sidecar",
]  # fmt: skip


@dataclass(frozen=True)
class Event:
    """Something that the program does at ``node``; ``functions`` are those that were active, the innermost last.

    Where there is a ``guarded``: it stands in a branch that asks for the rank or the number of GPUs.
    """

    node: ast.AST
    functions: tuple[ast.AST, ...] = ()


@dataclass(frozen=True)
class TensorInput:
    """A tensor that an operation is given, and the expression that gives it."""

    tensor: Tensor
    node: ast.AST


@dataclass(frozen=True, kw_only=True)
class Meeting(Event):
    """An operation joins tensors at different places.

    Attributes:
        offending: the one to change.
        other: one that is where it should be.
        cause: why they differ.
        owner: the class whose method was checked for itself, with inputs at any place; None in the running program.
    """

    offending: TensorInput
    other: TensorInput
    cause: Cause
    owner: ClassFacts | None = None


@dataclass(frozen=True, kw_only=True)
class Move(Event):
    """``module.to(where)`` and its like. ``map`` is the module's at that time; ``bare`` where no GPU is numbered."""

    module: Object
    where: Where
    map: Map | None
    wrapped: str
    optimizer: ast.AST | None
    guarded: bool = False


@dataclass(frozen=True, kw_only=True)
class StateLoaded(Event):
    """``optimizer.load_state_dict``: all state is then where the parameters are; ``optimizer`` is where it was made."""

    optimizer: ast.AST


@dataclass(frozen=True, kw_only=True)
class Discarded(Event):
    """A statement moves a tensor and drops the result."""

    tensor: Tensor
    target: ast.expr


@dataclass(frozen=True, kw_only=True)
class ToNumpy(Event):
    """A tensor that is on a GPU is asked for its NumPy array."""

    tensor: Tensor


@dataclass(frozen=True, kw_only=True)
class Wrapped(Event):
    """DataParallel or DDP is given a model. ``ids`` are the GPUs that the call names."""

    by: str
    module: Object
    ids: tuple[int, ...] = ()
    map: Map | None = None
    placed: Where = NOWHERE


@dataclass(frozen=True, kw_only=True)
class Mapped(Event):
    """A model is placed by a device map."""

    map: Map
    guarded: bool = False


@dataclass(frozen=True, kw_only=True)
class Loaded(Event):
    """torch.load without map_location."""


@dataclass(frozen=True, kw_only=True)
class LoadedMoved(Event):
    """What torch.load gave without map_location, is moved; ``load`` is the call."""

    load: ast.AST


@dataclass(frozen=True, kw_only=True)
class Ranks(Event):
    """A sign of several ranks: "group" (init_process_group), "rank" (LOCAL_RANK is read), "wrapper" (DDP)."""

    sign: Literal["group", "rank", "wrapper"]


@dataclass(frozen=True, kw_only=True)
class UsesGpu(Event):
    """CUDA is used. ``where`` is the GPU; ``chosen`` the call that chose the current one before, if any.

    ``visible`` is CUDA_VISIBLE_DEVICES, ``caught`` whether a handler of exceptions is around.
    """

    where: Where
    chosen: ast.AST | None
    text: str
    guarded: bool = False
    visible: Visible = UNSET
    caught: bool = False


@dataclass(frozen=True, kw_only=True)
class Chooses(Event):
    """torch.cuda.set_device, or something that calls it."""

    where: Where
    guarded: bool = False
    visible: Visible = UNSET
    caught: bool = False


@dataclass(frozen=True, kw_only=True)
class HidesGpus(Event):
    """CUDA_VISIBLE_DEVICES is set; ``used`` is where CUDA was certainly used before, if it was."""

    used: ast.AST | None
    visible: Visible


@dataclass(frozen=True, kw_only=True)
class Draws(Event):
    """A generator fills a tensor of another place."""

    generator: Generator
    where: Where


@dataclass(frozen=True, kw_only=True)
class Hands(Event):
    """A LightningModule holds a model that a map has spread, and is given to a Trainer; ``map`` is the model's."""

    map: Map
    attribute: str


@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """A library is given a model that a map has spread, together with a device, and refuses; ``map`` is the model's."""

    map: Map
    device: str


@dataclass(frozen=True, kw_only=True)
class Begins(Event):
    """What follows is not known to come after what was seen until here."""
