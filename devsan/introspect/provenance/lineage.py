"""Where a value comes from, read backwards in the source: from a name to the call that decided its device.

NOTE [Lineage] No record is kept of CPU tensors, nor of anything on real GPUs where nothing was recorded. Their
source tells: an assignment, the element of a loop, what a helper returns, what a caller gave, what a constructor put
into an attribute. Each step reads the syntax and the variables of frames that still live; nothing is run. What the
steps pass is kept as the stack of the event, so that it reads like one that was recorded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from devsan import core
from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.binding import step_out
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import NOT_TENSORS
from devsan.introspect.frames.only_calls import field_at_only_call, given_at_only_call, only_store
from devsan.introspect.frames.places import package_of, place_of
from devsan.introspect.frames.scopes import Spot, function_of, kinds_of, module_spot, spot_of, stores_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.models.recomputed import recomputed_by
from devsan.introspect.provenance.device_values import say_value
from devsan.introspect.provenance.living import Living
from devsan.introspect.provenance.loaded import checkpoint_event, is_away, is_reader, loader_event, only_checkpoint
from devsan.introspect.provenance.reader import event_at
from devsan.introspect.source.sources import expression, is_kept, parts_of
from devsan.introspect.source.statements import said_by

_DEEPEST = 24  # steps backwards
_FROM_HOST = frozenset({"from_numpy", "frombuffer"})
_SAME_PLACE = frozenset({"T", "mT", "H", "data", "real", "imag"})  # attributes of a tensor that are tensors where it is
_PREPARES = re.compile(r"(^|\.)_?prepare\w*$")  # methods of accelerate: what they are given comes back from them
_LOADS = re.compile(r"load|resume|restore")  # methods that take what a checkpoint holds


def _hands_back(function: Spot) -> bool:
    return package_of(function.file) == "accelerate" and _PREPARES.search(function.function) is not None


def _mentions(node: ast.AST, text: str) -> bool:
    return any(isinstance(part, ast.Attribute) and ast.unparse(part) == text for part in ast.walk(node))


class Lineage:
    """Reads backwards from the frames of one failure.

    Args:
        frames: of the traceback, outermost first.
        of_module: the provenance of what a module computes on a device; empty when nothing is known.
        of_weight: the provenance of what is computed from a parameter or a buffer; empty of any other tensor.
    """

    def __init__(
        self,
        frames: Sequence[Frame],
        of_module: Callable[[Any, str], list[core.Event]],
        of_weight: Callable[[Any], list[core.Event]],
    ) -> None:
        self.frames, self.of_module, self.of_weight = frames, of_module, of_weight
        self._living = Living(frames)
        self._device = ""
        self._unsure: list[core.Event] = []
        self._computed: tuple[ast.AST, Spot] | None = None

    def of(self, node: ast.AST, number: int, device: str) -> list[core.Event]:
        """Returns the provenance of ``node`` in frame ``number``, a tensor on ``device``; empty when it is hidden.

        Where no factory and no move is found, but the program's statement that computed it on the host, that is told.
        """
        return self.at(node, spot_of(self.frames, number), device)

    def at(self, node: ast.AST, spot: Spot, device: str) -> list[core.Event]:
        """As ``of``, from any spot."""
        self._device, self._computed = device, None
        self._unsure = []
        found = self._trace(node, spot, _DEEPEST) or self._unsure
        if not found and self._computed is not None and device == "cpu":
            value, spot = self._computed
            here = self._living.place(value, spot)
            owner = core.Owner(name=here.package or "program", mechanism="")
            peer = core.DeviceSource.PEER  # it is where its operands are
            found = [core.Event(kind=core.EventKind.MADE, device=device, owner=owner, source=peer,
                                     stack=self._living.stack(value, spot))]  # fmt: skip
        return found

    def _trace(self, node: ast.AST | None, spot: Spot, left: int) -> list[core.Event]:
        if node is None or left <= 0:
            return []
        left -= 1
        if isinstance(node, ast.Name):
            return self._name(node, spot, left)
        if isinstance(node, ast.Call):
            return self._call(node, spot, left)
        if isinstance(node, ast.Attribute):
            return self._weight(node, spot, left) or self._attribute(node, spot, left)
        if isinstance(node, ast.Subscript):
            return self._named(node, spot, left) or self._trace(node.value, spot, left)
        if isinstance(node, (ast.Starred, ast.NamedExpr, ast.keyword, ast.Await)):
            return self._trace(node.value, spot, left)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._trace(node.elt, spot, left)
        if isinstance(node, ast.DictComp):
            return self._trace(node.value, spot, left)
        return self._first(parts_of(node), spot, left)

    def _first(self, nodes: Sequence[ast.AST | None], spot: Spot, left: int) -> list[core.Event]:
        """The provenance of the first that has one; a variable's tensor of another device has no part in it."""
        for node in nodes:
            if node is not None and not self._is_elsewhere(node, spot):
                found = self._trace(node, spot, left)
                if found:
                    return found
        return []

    def _is_elsewhere(self, node: ast.AST, spot: Spot) -> bool:
        if spot.frame is None or not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        held = spot.frame.scope.value(node)
        return is_tensor(held) and str(held.device) != self._device  # type: ignore[attr-defined]

    def _name(self, node: ast.Name, spot: Spot, left: int) -> list[core.Event]:
        return self._named(node, spot, left) or self._given(node.id, spot, left) or self._global(node.id, spot, left)

    def _named(self, node: ast.expr, spot: Spot, left: int) -> list[core.Event]:
        """What the function itself gave to a name, an attribute or an element, last before the spot."""
        assigned = spot.last_given(ast.unparse(node), whole=is_tensor(spot.value(node)))
        if assigned is None:
            return []
        value, is_element = assigned
        before = spot.before(value)
        if is_element:
            loaded = loader_event(value, before, self._living)
            if loaded:
                return loaded
        if self._computed is None and not is_kept(value):
            self._computed = (value, before)
        found = self._trace(self._handed_back(node, value, before), before, left)
        again = any(isinstance(part, ast.Name) and part.id == getattr(node, "id", "") for part in ast.walk(value))
        if not found and again and not is_element and left > 0:  # batch = batch.to(device), which left this one behind
            return self._named(node, before, left - 1)
        return found

    def _handed_back(self, node: ast.expr, value: ast.expr, spot: Spot) -> ast.expr:
        """``model`` of ``model, loader = accelerator.prepare(model, loader)`` is what was given under that name."""
        function = function_of(value, spot) if isinstance(value, ast.Call) and len(value.args) > 1 else None
        if function is None or not _hands_back(function):
            return value
        return next((each for each in value.args if ast.unparse(each) == ast.unparse(node)), value)  # type: ignore[attr-defined]

    def _given(self, name: str, spot: Spot, left: int) -> list[core.Event]:
        """What the caller gave for a parameter."""
        if name in spot.bound:
            argument, caller = spot.bound[name]
            return self._trace(argument, caller, left)
        if spot.frame is None:
            given = given_at_only_call(spot, name)
            return self._trace(given[0], self._living.at(given[1]), left) if given is not None else []
        if not spot.number or name in ("self", "cls"):
            return []
        code = spot.frame.code
        if name in code.co_freevars:
            outer = spot.enclosing()
            return self._named(ast.Name(name, ast.Load()), outer, left) if outer is not None else []
        if name not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            return []
        expression: Expression | None = Expression(ast.Name(name, ast.Load()))
        for number in range(spot.number - 1, -1, -1):
            assert expression is not None
            caller_frame = self.frames[number]
            expression = step_out(expression, self.frames[number + 1], caller_frame)
            if expression is None:
                return []
            if place_of(caller_frame).package not in ("torch", "python", "accelerate"):
                return self._trace(expression.node, spot_of(self.frames, number), left)
        return []

    def _global(self, name: str, spot: Spot, left: int) -> list[core.Event]:
        if spot.function == "<module>":
            return []
        whole = module_spot(spot)
        return self._named(ast.Name(name, ast.Load()), whole, left) if whole is not None else []

    def _weight(self, node: ast.Attribute, spot: Spot, left: int) -> list[core.Event]:
        """What was computed from a model's own parameter or buffer is where that is."""
        held = spot.value(node)
        itself = left == _DEEPEST - 1
        there = self._device == "cpu" and is_tensor(held) and str(held.device) == "cpu"  # type: ignore[attr-defined]
        found = self.of_weight(held) if there and not itself else []
        decided = any(event.kind not in (core.EventKind.COMPUTED, core.EventKind.SHARED) for event in found)
        return [*found, *self._attribute(node, spot, left)] if found and not decided else found

    def _attribute(self, node: ast.Attribute, spot: Spot, left: int) -> list[core.Event]:
        module = spot.value(node.value)
        by = recomputed_by(module, node.attr) if is_module(module) and self._device == "cpu" else ""
        if by:
            stack = self._living.stack(node, spot)
            owner = core.Owner(name="torch", mechanism=by)
            return [core.Event(kind=core.EventKind.MADE, device="cpu", owner=owner, stack=stack,
                               source=core.DeviceSource.PEER, followed=ast.unparse(node))]  # fmt: skip
        found = self._named(node, spot, left)
        if found:
            return found
        own = f"self.{node.attr}"
        given_by = [each for each in stores_of(node, spot) if not isinstance(each[1], ast.Constant)]
        # `self.x = self.x.to(device)` says where it is since: one that is elsewhere is from before.
        first = [each for each in given_by if not _mentions(each[1], own)]
        stores = first or given_by
        if len(stores) > 1 and any(package_of(method.file) for method, _ in stores):
            return []  # of a library's methods only some have run
        for method, value in stores:
            if self._computed is None:
                self._computed = (value, method)
            found = self._trace(value, method.before(value), left)
            if found:
                return found
            if _LOADS.search(method.function.rpartition(".")[2]):  # given by a checkpoint: where that is read
                loaded = only_checkpoint(method, self._device, self._living)
                if loaded:
                    return loaded
        if not given_by:
            given_outside = only_store(node.attr, spot)
            if given_outside is not None:
                return self._trace(*given_outside, left)
        for kind in kinds_of(node.value, spot):
            given = field_at_only_call(kind, node.attr, spot)
            if given is not None:
                return self._trace(given[0], self._living.at(given[1]), left)
        holder = node.value.id if isinstance(node.value, ast.Name) else "self"
        field = (
            holder not in ("self", "cls")
            and not spot.is_namespace(node.value)
            and not is_module(spot.value(node.value))
        )
        return self._trace(node.value, spot, left) if field or node.attr in _SAME_PLACE else []

    def _call(self, call: ast.Call, spot: Spot, left: int) -> list[core.Event]:
        said = said_by(call)
        method = isinstance(call.func, ast.Attribute)
        if said.is_factory:
            like = said.device.removesuffix(".device") if said.peer and said.device else None
            away = self._is_elsewhere(expression(like), spot) if like else is_away(said.device, spot, self._device)
            return [] if away else self._event(call, spot, said.call, is_move=False)
        if method and said.call in MOVES and said.device is not None:
            return [] if is_away(said.device, spot, self._device) else self._event(call, spot, said.call, is_move=True)
        module = spot.value(call.func)
        if is_module(module):
            return self.of_module(module, self._device)
        if is_reader(call):
            return checkpoint_event(call, spot, self._device, self._living)
        function = function_of(call, spot)
        if function is not None and not _hands_back(function):
            returned = [value for value in function.returns() if value is not None]
            return self._first_of(returned, function, left)
        if said.call in _FROM_HOST:
            return self._event(call, spot, said.call, is_move=False)
        if said.call in NOT_TENSORS and said.call in ("item", "tolist", "numpy", "size", "numel", "dim"):
            return []
        if isinstance(call.func, ast.Attribute) and not spot.is_namespace(call.func.value):
            return self._first([call.func.value, *call.args, *call.keywords], spot, left)
        return self._first([*call.args, *call.keywords], spot, left)

    def _first_of(self, values: Sequence[ast.expr], function: Spot, left: int) -> list[core.Event]:
        for value in values:
            found = self._trace(value, function.before(value), left)
            if found:
                return found
        return []

    def only_checkpoint(self, number: int) -> list[core.Event]:
        """Returns the event of the only checkpoint that the file of frame ``number`` reads to the host; or nothing."""
        self._device = "cpu"
        return only_checkpoint(spot_of(self.frames, number), "cpu", self._living)

    def _event(self, call: ast.Call, spot: Spot, name: str, is_move: bool) -> list[core.Event]:
        stack = self._living.stack(call, spot)
        event = event_at(stack, self._device, f"aten::{name}", is_move=is_move)
        if not is_move or self._device != "cpu" or event.device_text in ("", '"cpu"', "'cpu'"):
            return [event]
        # A variable says where it went: of the program's paths the one that surely ends on the host counts.
        say_value(event)
        value = event.device_value or event.device_text
        if "cuda" not in value and not self._unsure:
            self._unsure = [event]
        return [event] if value == '"cpu"' else []
