"""Who held the memory of a GPU when the most was held, as every format says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.messages import Message, message

Plain = Mapping[str, Any]

_KINDS = {
    "parameter": message("parameters"),
    "gradient": message("gradients"),
    "optimizer_state": message("optimizer state"),
    "buffer": message("buffers"),
    "cache": message("KV cache"),
    "collected": message("tensors in lists and dictionaries"),
    "history": message("autograd graphs of several passes"),
    "communication": message("buffers of collectives"),
    "activation": message("activations and other results of operators"),
    "temporary": message("temporary results of operators"),
    "data": message("other tensors"),
    "workspace": message("workspaces of kernels"),
    "fragmentation": message("reserved, not allocated (fragmentation)"),
    "context": message("CUDA context"),
    "unknown": message("unknown"),
}


@dataclass(frozen=True)
class Holder:
    """Tensors of one name, operator or line. ``share``: per cent of what the process took of the GPU."""

    name: str
    bytes: int
    share: int


@dataclass(frozen=True)
class Part:
    """All memory of one kind. ``share``: per cent of what the process took; ``largest``: the largest first."""

    kind: Message
    bytes: int
    share: int
    largest: tuple[Holder, ...]


def parts_of(peak: Plain) -> list[Part]:
    """Returns the parts of one of a document's ``memory.peaks``, the largest first."""
    taken = sum(int(part["bytes"]) for part in peak["parts"])

    def share_of(held: Plain) -> int:
        return round(100 * int(held["bytes"]) / max(1, taken))

    return [
        Part(
            _KINDS[part["kind"]], part["bytes"], share_of(part),
            tuple(Holder(name, each["bytes"], share_of(each)) for each in part["largest"] if (name := _name(each))),
        )
        for part in peak["parts"]
    ]  # fmt: skip


def kind_named(kind: str) -> Message:
    """Returns what a kind of memory is called."""
    return _KINDS[kind]


def _name(holder: Plain) -> str:
    return str(holder["name"].strip("`") or holder["op"] or holder["where"])


def site_of(peak: Plain) -> Plain | None:
    """Returns the program's line at the moment of the peak, else the innermost; None without a stack."""
    stack = peak["stack"]
    return next((frame for frame in stack if not frame["package"]), stack[0] if stack else None)
