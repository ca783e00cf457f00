"""A model in one line: which of its modules are on which device, in the order in which the model has them.

cuda:0 embed,0-2 | cuda:1 3-6 | cuda:2 7-8,norm,head
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from devsan import core

_MOST = 16
"""Stretches that are shown. A model that changes devices more often has no map that a line could show."""


@dataclass
class _Node:
    """A module: where its own tensors are, and what is below."""

    path: str = ""
    device: str = ""
    below: dict[str, _Node] = field(default_factory=dict)

    def devices(self) -> set[str]:
        found = {self.device} if self.device else set()
        return found.union(*(node.devices() for node in self.below.values()))


def strip_of(model: core.Model) -> str:
    """Returns the line of ``model``; "" where it is on one device, or changes devices too often for a line."""
    return strip((str(module.path), _home(module)) for module in model.modules)


def strip(homes: Iterable[tuple[str, str]]) -> str:
    """Returns the line of modules.

    Args:
        homes: path and device of each, in the order of the model; device "" for none of its own.
    """
    root = _Node()
    for path, device in homes:
        node = root
        for at, name in enumerate(path.split(".") if path else ()):
            node = node.below.setdefault(name, _Node(".".join(path.split(".")[: at + 1])))
        node.device = device
    parts = [(device, list(paths)) for device, paths in groupby(_parts(root), lambda part: part[0])]
    if not 1 < len(parts) <= _MOST:
        return ""
    stacks = {_stack_of(path)[0] for path in _paths(root)} - {""}
    return " | ".join(f"{device} {_named([path for _, path in group], len(stacks) > 1)}" for device, group in parts)


def _home(module: core.Module) -> str:
    """The device that a hook brings its parameters to, or where most of their bytes are; "" where it has none."""
    parameters = [tensor for tensor in module.tensors if not tensor.is_buffer]
    if not parameters:
        return ""
    for hook in module.hooks:
        if hook.offload and str(hook.execution_device):
            return str(hook.execution_device)
    sizes: dict[str, int] = {}
    for tensor in parameters:
        device = str(tensor.device)
        sizes[device] = sizes.get(device, 0) + int(tensor.bytes)
    return max(sizes, key=lambda device: sizes[device])


def _parts(node: _Node) -> Iterator[tuple[str, str]]:
    """The largest modules that are on one device each, and that device."""
    devices = node.devices()
    if len(devices) == 1 and node.path:
        yield devices.pop(), node.path
        return
    if node.device and node.path:
        yield node.device, node.path
    for each in node.below.values():
        yield from _parts(each)


def _paths(node: _Node) -> Iterator[str]:
    yield node.path
    for each in node.below.values():
        yield from _paths(each)


def _stack_of(path: str) -> tuple[str, str]:
    """The list that a module is of, and its name from its number on: ("decoder.layers", "3.attn"); ("", "head") of
    none."""
    names = path.split(".")
    for at, name in enumerate(names):
        if name.isdigit() and at:
            return ".".join(names[max(0, at - 2) : at]), ".".join(names[at:])
    return "", names[-1]


def _named(paths: list[str], with_stack: bool) -> str:
    runs: list[tuple[str, str, str]] = []  # of each its stack, and the first and the last of its numbers
    for path in paths:
        stack, name = _stack_of(path)
        before, first, last = runs[-1] if runs else ("", "", "")
        if before == stack and name.isdigit() and last.isdigit() and int(name) == int(last) + 1:
            runs[-1] = (stack, first, name)
        else:
            runs.append((stack, name, name))
    return ",".join(
        (f"{stack}." if stack and with_stack else "") + (first if first == last else f"{first}-{last}")
        for stack, first, last in runs
    )
