"""What a tensor is in the program: a parameter, an input, optimizer state, a variable, a temporary."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from devsan.diagnostics.codes import words_of
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.roots import first_name
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING, dict_in
from devsan.introspect.models.averages import is_average
from devsan.introspect.models.functions import keeper_of
from devsan.introspect.models.referrers import (
    caches_in,
    classes_of,
    holds,
    in_class,
    in_global,
    is_constant_name,
    keeps_memory_of,
    optimizer_state,
    tensors_of,
)
from devsan.introspect.models.registry import ATTRIBUTE, Home, Registry, copy_of_weight
from devsan.introspect.provenance import creation
from devsan.introspect.source.sources import bindings_in, tree_of

_INPUTS = frozenset({"input_ids", "labels", "label", "attention_mask", "pixel_values", "inputs", "targets", "target",
                     "position_ids",
                     "token_type_ids", "num_items_in_batch", "batch", "decoder_input_ids"})  # fmt: skip
_CACHE = words_of("kv-cache")
_STATE = frozenset((*_CACHE["holders"], *_CACHE["indices"]))


class Kinds:
    """Tells what the operands of one failure are.

    Args:
        registry: of the program's models.
        optimizers: living ones that may keep an operand.
        frames: of the traceback, outermost first.
        together: the values of all operands.
    """

    def __init__(
        self, registry: Registry, optimizers: Sequence[Any], frames: Sequence[Frame], together: Sequence[object]
    ) -> None:
        self.registry, self.optimizers, self.frames, self.together = registry, optimizers, frames, together

    @cached_property
    def _classes(self) -> list[type]:
        return classes_of(self.frames)

    def in_class(self, value: object) -> str:
        """Returns what ``value`` is called as an attribute of a class; "" where none keeps it."""
        return in_class(self._classes, value)

    def of(self, value: object, device: str, node: ast.AST | None, frame: Frame | None) -> tuple[str, Home | None]:
        """Returns the name of the core's OperandKind, and where a model keeps the operand.

        Args:
            value: the operand; anything else when no variable holds it.
            device: where it is.
            node: the expression that stands for it, in ``frame``.
        """
        home = self.registry.home_of(value) if is_tensor(value) else None
        if home is not None and home.kind == ATTRIBUTE and (self._is_state(value, home) or self._is_immovable(home)):
            home = None
        return self._kind(value, device, node, frame, home), home

    def _kind(self, value: object, device: str, node: ast.AST | None, frame: Frame | None, home: Home | None) -> str:
        if is_tensor(value):
            if is_average(self.frames, value, self.registry, self.together):
                return "OPTIMIZER_STATE"
            if device == "cpu" and copy_of_weight(self.registry, value, self.together):
                return "OPTIMIZER_STATE"  # as a copy of the weights is
            if home is not None and (home.kind != ATTRIBUTE or optimizer_state(self.optimizers, value) is None):
                return home.kind
            if optimizer_state(self.optimizers, value) is not None:
                return "OPTIMIZER_STATE"
            if any(keeps_memory_of(cache, value) for cache in caches_in(self.frames)):
                return "CACHE"
            if (registered := _registered(value, node, frame)) is not None:
                return registered
        if type(value) in (int, float, complex, bool):
            return "NUMBER"
        first = first_name(node)
        if first in _STATE:
            return "CACHE"
        if self._is_input(value, first, frame):
            return "INPUT"
        if is_tensor(value) and (
            in_global(self.frames, value) or self.in_class(value) or keeper_of(value, self.frames)
        ):
            return "GLOBAL"
        if frame is None or first is None or node is None or not _is_path(node):
            return "TEMPORARY"
        code = frame.code
        if first not in code.co_varnames and first not in code.co_cellvars + code.co_freevars:
            own = self._is_constant(first, frame) or (isinstance(node, ast.Subscript) and _fills(frame, first))
            return "GLOBAL" if own else "LOCAL"
        if isinstance(node, ast.Name):
            return "LOCAL"
        holder = frame.scope.value(ast.Name(first, ast.Load()))
        if is_module(holder):
            return ATTRIBUTE
        return "GLOBAL" if isinstance(holder, type) else ATTRIBUTE if first == "self" else "LOCAL"

    def _is_constant(self, name: str, frame: Frame) -> bool:
        """Whether a global is the file's own; a script's variables are those of a function that still runs."""
        if frame.code.co_name == "<module>":
            return False
        running = any(each.code.co_name == "<module>" and each.file == frame.file for each in self.frames)
        method = frame.code.co_varnames[:1] in (("self",), ("cls",))
        return not running or method or is_constant_name(name)

    def _is_state(self, value: object, home: Home) -> bool:
        return "cache" in home.name.lower() and any(holds(cache, value) for cache in caches_in(self.frames))

    def _is_immovable(self, home: Home) -> bool:
        """Whether a plain object keeps it that nothing moves as a whole: one that holds modules, and has no ``to``."""
        root = self.registry.trees[home.tree].root
        return home.holder == "" and not is_module(root) and not hasattr(type(root), "to")

    def _is_input(self, value: object, first: str | None, frame: Frame | None) -> bool:
        if frame is None or first is None:
            return False
        if (
            first in _INPUTS
            and first in frame.code.co_varnames[: frame.code.co_argcount + frame.code.co_kwonlyargcount]
        ):
            return True
        if is_tensor(value) and any(holds(given, value, 2) for given in self._given()):
            return True
        return creation.is_loop_variable(first, frame)

    def _given(self) -> list[object]:
        """What the outermost call of a model was given: forward itself may have changed its variables since.

        A step of Lightning's is a call of the model as well: what it makes for a part of the model is no input.
        """
        for frame in self.frames:
            names = frame.scope.locals
            if frame.code.co_varnames[:1] != ("self",) or self.registry.path_of(names.get("self")) is None:
                continue
            if frame.code.co_name == "_wrapped_call_impl":
                return [names.get("args", MISSING), names.get("kwargs", MISSING)]
            if frame.code.co_name.endswith("_step") or frame.code.co_name == "forward":
                return [names.get(name, MISSING) for name in frame.code.co_varnames[1 : frame.code.co_argcount]]
        return []

    def given_on_host(self) -> list[Any]:
        """Returns the CPU tensors that the outermost call of a model was given, numbers aside."""
        found: dict[int, Any] = {}
        for given in self._given():
            for tensor in tensors_of(given):
                if str(tensor.device) == "cpu" and tensor.dim() > 0:
                    found[id(tensor)] = tensor
        return list(found.values())


def _fills(frame: Frame, name: str) -> bool:
    """Whether a function puts elements into a global itself, as into a cache."""
    tree = tree_of(frame.code) if frame.code.co_name != "<module>" else None
    return tree is not None and any(target.startswith(f"{name}[") for _, target, _, _ in bindings_in(tree))


def _is_path(node: ast.AST) -> bool:
    """Whether only attributes and elements lead from a variable to ``node``: not so in ``self.layer(x)[index]``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)


def _registered(value: object, node: ast.AST | None, frame: Frame | None) -> str | None:
    """The kind of ``net.weight`` where ``net`` is a module that belongs to no model of the stack; None for the rest."""
    holder = frame.scope.value(node.value) if frame is not None and isinstance(node, ast.Attribute) else None
    if not is_module(holder):
        return None
    for name, kind in (("_parameters", "PARAMETER"), ("_buffers", "BUFFER")):
        if any(each is value for each in list(dict.values(dict_in(holder, name)))):
            return kind
    return None
