"""The operands of a failure as facts: names, kinds, where each is kept, and its trail."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan.probe import creation
from devsan.probe.expressions import Expression
from devsan.probe.frames import Frame
from devsan.probe.inference import NOT_TENSORS
from devsan.probe.models import Tree, members
from devsan.probe.placement import Placement
from devsan.probe.places import clean, place
from devsan.probe.registry import (
    ATTRIBUTE,
    Home,
    Registry,
    caches_in,
    holds,
    in_global,
    is_average,
    is_constant_name,
    optimizer_state,
)
from devsan.probe.tensors import is_module, is_tensor, placement_of
from devsan.probe.tracking import Tracked
from devsan.probe.trails import Trails, settle
from devsan.probe.values import MISSING

_INPUTS = frozenset({"input_ids", "labels", "label", "attention_mask", "pixel_values", "inputs", "targets", "target",
                     "position_ids",
                     "token_type_ids", "num_items_in_batch", "batch", "decoder_input_ids"})  # fmt: skip
_STATE = frozenset({"past_key_values", "past_key_value", "layer_past", "cache_position", "beam_idx"})
_MOST = 16  # operands
_SIZES = {"float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2,
          "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip


class Operands:
    """Describes the operands of one failure.

    Args:
        core: ``devsan._core``.
        trails: reads their trails.
        registry: of the program's models.
        models: the core's Models, in the registry's order.
        optimizers: living ones that may keep an operand.
        frames: of the traceback, outermost first.
        place: number of the frame to show.
    """

    def __init__(
        self, core: Any, trails: Trails, registry: Registry, models: Sequence[Any], optimizers: Sequence[Any],
        frames: Sequence[Frame], place: int,
    ) -> None:  # fmt: skip
        self.core, self.trails, self.registry, self.models = core, trails, registry, models
        self.optimizers, self.frames, self.place = optimizers, frames, place
        self.main = 0  # number of the model that the operands belong to

    def describe(self, operands: Sequence[Tracked]) -> list[Any]:
        """Returns the core's Operands, in the order of the source."""
        return [self._describe(operand) for operand in list(operands)[:_MOST]]

    def _describe(self, tracked: Tracked) -> Any:
        core = self.core
        at, frame = self._seen(tracked)
        value, root = tracked.value, None
        name, span = "", core.Span()
        if at is not None and frame is not None:
            value, root = self._value(at, frame, tracked)
            name = at.text(frame) if root is None else frame.segment(root)
            node: Any = at.node
            if hasattr(node, "lineno"):  # a name that the probe made up has no place
                span = place(core, frame.code, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset).span
        operand = core.Operand(role=tracked.role or "", name=clean(name), odd=tracked.odd, span=span)
        self._placed(operand, placement_of(value) if is_tensor(value) else None, tracked.placement)
        kind = self._kind(operand, value, root if root is not None else at.node if at is not None else None, frame)
        operand.kind = getattr(core.OperandKind, kind)
        if is_tensor(value):
            operand.requires_grad, operand.is_leaf = _grad(value)
        self._trail(operand, value, at, frame)
        return operand

    def _seen(self, tracked: Tracked) -> tuple[Expression | None, Frame | None]:
        if not tracked.at:
            return None, None
        number = self.place if self.place in tracked.at else max(tracked.at)
        return tracked.at[number], self.frames[number]

    def _value(self, at: Expression, frame: Frame, tracked: Tracked) -> tuple[object, ast.AST | None]:
        """The tensor that ``at`` stands for; or one that it is made from without leaving its device, and its node."""
        value = at.value(frame)
        if is_tensor(value) or at.path:
            return (value if is_tensor(value) else tracked.value), None
        for root in (_root(at.node), _only_tensor(at.node, frame)):
            held = frame.scope.value(root)
            placed = placement_of(held) if is_tensor(held) else None
            if placed is not None and (tracked.placement is None or placed.device == tracked.placement.device):
                return held, root
        return tracked.value, None

    def _placed(self, operand: Any, own: Placement | None, seen: Placement | None) -> None:
        placement = seen or own
        if placement is None:
            return
        operand.device = placement.device
        best = own if own is not None and own.device == placement.device else placement
        if best.dtype is not None:
            operand.dtype = best.dtype
        if best.shape is not None:
            operand.shape = list(best.shape)
            count = 1
            for size in best.shape:
                count *= size
            operand.bytes = count * _SIZES.get(best.dtype or "", 4)

    def _kind(self, operand: Any, value: object, node: ast.AST | None, frame: Frame | None) -> str:
        if is_tensor(value):
            if is_average(self.frames, value):
                return "OPTIMIZER_STATE"
            home = self.registry.home_of(value)
            if home is not None and (home.kind != ATTRIBUTE or not self._is_state(value, home)):
                self._at_home(operand, home)
                if home.kind != ATTRIBUTE or optimizer_state(self.optimizers, value) is None:
                    return home.kind
            if optimizer_state(self.optimizers, value) is not None:
                return "OPTIMIZER_STATE"
            if any(holds(cache, value) for cache in caches_in(self.frames)):
                return "CACHE"
        if type(value) in (int, float, complex, bool):
            return "NUMBER"
        first = _first_name(node)
        if first in _STATE:
            return "CACHE"
        if self._is_input(value, first, frame):
            return "INPUT"
        if is_tensor(value) and in_global(self.frames, value):
            return "GLOBAL"
        if frame is None or first is None or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return "TEMPORARY"
        code = frame.code
        if first not in code.co_varnames and first not in code.co_cellvars + code.co_freevars:
            return "GLOBAL" if self._is_constant(first, frame) else "LOCAL"
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

    def _at_home(self, operand: Any, home: Home) -> None:
        tree = self.registry.trees[home.tree]
        operand.holder, operand.registered = home.holder or type(tree.root).__name__, home.registered
        if home.registered and home.kind != ATTRIBUTE:
            operand.known_as = home.path
        self.main = home.tree
        for base in _bases_of(home.path):
            if not operand.beside:
                self._beside(operand, tree, base)

    def _beside(self, operand: Any, tree: Tree, base: str) -> None:
        holder, _, name = base.rpartition(".")
        module = tree.modules.get(holder)
        for kept in ("_parameters", "_buffers"):
            tensor: Any = members(module, kept).get(name) if module is not None else None
            if is_tensor(tensor):
                operand.beside, operand.beside_device = base, str(tensor.device)

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
        """What the outermost call of a model was given: forward itself may have changed its variables since."""
        for frame in self.frames:
            names = frame.scope.locals
            if frame.code.co_name == "_wrapped_call_impl" and self.registry.path_of(names.get("self")) is not None:
                return [names.get("args", MISSING), names.get("kwargs", MISSING)]
        return []

    def _trail(self, operand: Any, value: object, at: Expression | None, frame: Frame | None) -> None:
        core = self.core
        model = self.models[self.main] if self.models else None
        events: list[Any] = []
        if is_tensor(value) and operand.device == core.Device(str(getattr(value, "device", ""))):
            events = self.trails.of(value)
        device = str(operand.device)
        computed = (core.EventKind.COMPUTED, core.EventKind.SHARED)
        if all(event.kind in computed for event in events) and frame is not None and at is not None:
            events = events or self._of_module(at.node, frame, device)
            event = creation.made_by(core, at.node, frame, device)
            if operand.kind == core.OperandKind.INPUT and device == "cpu":
                event = event or creation.from_loader(core, _first_name(at.node) or "", frame)
            if event is None and operand.kind not in (core.OperandKind.PARAMETER, core.OperandKind.BUFFER):
                event = creation.assigned(core, operand.name, frame, device)
                event = event or creation.assigned_elsewhere(core, operand.name, frame, device)
            events = [*events, event] if event is not None else events
        operand.trail = settle(core, events, operand.known_as, model)
        if frame is not None and operand.name:
            operand.copies = list(creation.copies_of(core, operand.name, frame)) or self._left_behind(operand, frame)

    def _of_module(self, node: ast.AST, frame: Frame, device: str) -> list[Any]:
        """The trail of what ``self.up(x)`` computed: where its weights are."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held = frame.scope.value(node.func)
            if is_module(held):
                break
            node = node.func.value
        module = frame.scope.value(node.func) if isinstance(node, ast.Call) else MISSING
        found = self.registry.path_of(module) if is_module(module) else None
        if found is None:
            return []
        for path, name, tensor, _ in self.registry.trees[found[0]].tensors():
            if (path == found[1] or path.startswith(found[1] + ".")) and str(tensor.device) == device:
                core, followed = self.core, ".".join(part for part in (path, name) if part)
                computed = core.Event(kind=core.EventKind.COMPUTED, device=device, followed=followed)
                return settle(core, [computed, *self.trails.of(tensor)], followed, self.models[found[0]])
        return []

    def _left_behind(self, operand: Any, frame: Frame) -> list[Any]:
        """The move of the parameter that a variable was bound to, or copied from, before that: ``W = layer.weight``."""
        value = creation.last_value(operand.name, frame)
        for node in ast.walk(value) if value is not None else ():
            held = frame.scope.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else MISSING
            if is_tensor(held) and str(held.device) != str(operand.device) and self.registry.home_of(held) is not None:  # type: ignore[attr-defined]
                return self.trails.of(held)[:1]
        return []


def _root(node: ast.AST) -> ast.AST | None:
    """The variable that a chain of methods begins with, as long as each keeps the device: ``labels[1:].view(-1)``."""
    current = node
    while True:
        if isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
            if current.func.attr in NOT_TENSORS or current.func.attr in ("to", "cuda", "cpu", "type", "pin_memory"):
                return None
            current = current.func.value
        elif isinstance(current, ast.Subscript) or (
            isinstance(current, ast.Attribute) and current.attr in ("T", "mT", "data")
        ):
            current = current.value
        else:
            break
    return current if current is not node and isinstance(current, (ast.Name, ast.Attribute)) else None


def _only_tensor(node: ast.AST, frame: Frame) -> ast.AST | None:
    """The only variable of an arithmetic expression that holds a tensor: ``noise`` of ``0.1 * noise``."""
    if not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return None
    found = []
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Name, ast.Attribute)) and is_tensor(frame.scope.value(each)):
            found.append(each)
        elif isinstance(each, ast.Call):
            return None
        else:
            waiting.extend(ast.iter_child_nodes(each))
    return found[0] if len(found) == 1 else None


def _first_name(node: ast.AST | None) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _bases_of(path: str) -> list[str]:
    """Where the weight may be that an adapter's tensor, or a quantised weight's state, stands beside."""
    path = "." + path
    for mark in (".lora_", ".vera_", ".trainable_tokens", ".lokr_", ".hada_", ".ia3_"):
        if mark in path:
            layer = path.partition(mark)[0]
            return [
                f"{layer}.{name}".lstrip(".")
                for name in ("base_layer.weight", "base.weight", "linear.weight", "weight")
            ]
    for mark in (".quant_state", ".SCB", ".CB", ".absmax", ".state."):
        if mark in path:
            return [(path.partition(mark)[0].removesuffix(".weight") + ".weight").lstrip(".")]
    return []


def _grad(tensor: Any) -> tuple[bool, bool]:
    try:
        return bool(tensor.requires_grad), bool(tensor.is_leaf)
    except Exception:
        return False, True
