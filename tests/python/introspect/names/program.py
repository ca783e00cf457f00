"""A program that fails, and what is true of the operands of the operator that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEAD = """\
import contextlib
import dataclasses
import functools
import types

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
"""


@dataclass(frozen=True)
class Kind:
    """What a tensor is made of: its device, dtype and shape."""

    device: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Truth:
    """One operand, as whoever wrote the program knows it.

    Attributes:
        kind: the operand's own.
        names: what the program calls it where it fails and further out, each with the kind of what is called so: a
            view's base is another one's. A name that begins with "*." is the end of a path in a model.
        named: whether the source has a name for it at all; an output inside of a container has none.
    """

    kind: Kind
    names: Mapping[str, Kind]
    named: bool = True

    def is_called(self, name: str, kind: Kind | None = None) -> bool:
        """Returns whether ``name`` means it, and whether what is called so is ``kind``."""
        return any(_means(text, name) and kind in (None, self.kind, its) for text, its in self.names.items())


@dataclass(frozen=True)
class Program:
    """A program, its operands and the tensors that never reach the operator.

    Attributes:
        family: what it tries: the route of its operands, or "container".
        label: what it is made of, for messages.
        text: the source.
        probed: the source with a call of ``_see(number, operand)`` around each operand.
        truths: its operands.
        decoys: names of tensors that are no operands.
    """

    family: str
    label: str
    text: str
    probed: str
    truths: tuple[Truth, ...]
    decoys: frozenset[str]


def _means(text: str, name: str) -> bool:
    if text.startswith("*."):
        return name == text[2:] or name.endswith(text[1:])
    return text == name
