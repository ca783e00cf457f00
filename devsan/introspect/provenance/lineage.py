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
from dataclasses import replace
from typing import Any

from devsan import core
from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.binding import step_out
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import NOT_TENSORS
from devsan.introspect.frames.only_calls import field_at_only_call, given_at_only_call, only_call
from devsan.introspect.frames.places import place_in, place_of, without_machinery
from devsan.introspect.frames.scopes import Spot, class_of, function_of, kinds_of, module_spot, spot_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.models.recomputed import recomputed_by
from devsan.introspect.provenance.device_values import say_value
from devsan.introspect.provenance.reader import event_at
from devsan.introspect.source.sources import (
    bindings_in,
    expression,
    functions_in,
    is_kept,
    parts_of,
    statements_of,
    tree_at,
)
from devsan.introspect.source.statements import said_by

_DEEPEST = 24  # steps backwards
_FROM_HOST = frozenset({"from_numpy", "frombuffer"})
_SAME_PLACE = frozenset({"T", "mT", "H", "data", "real", "imag"})  # attributes of a tensor that are tensors where it is
_LOADS = re.compile(r"load|resume|restore")  # methods that take what a checkpoint holds


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
            here = self._place(value, spot)
            owner = core.Owner(name=here.package or "program", mechanism="")
            peer = core.DeviceSource.PEER  # it is where its operands are
            found = [core.Event(kind=core.EventKind.MADE, device=device, owner=owner, source=peer,
                                     stack=[here, *self._callers(spot)])]  # fmt: skip
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
        assigned = spot.last_given(ast.unparse(node))
        if assigned is None:
            return []
        value, is_element = assigned
        before = spot.before(value)
        if is_element:
            loaded = self._loaded(value, before)
            if loaded:
                return loaded
        if self._computed is None and not is_kept(value):
            self._computed = (value, before)
        found = self._trace(value, before, left)
        again = any(isinstance(part, ast.Name) and part.id == getattr(node, "id", "") for part in ast.walk(value))
        if not found and again and not is_element and left > 0:  # batch = batch.to(device), which left this one behind
            return self._named(node, before, left - 1)
        return found

    def _given(self, name: str, spot: Spot, left: int) -> list[core.Event]:
        """What the caller gave for a parameter."""
        if name in spot.bound:
            argument, caller = spot.bound[name]
            return self._trace(argument, caller, left)
        if spot.frame is None:
            given = given_at_only_call(spot, name)
            return self._trace(given[0], self._living(given[1]), left) if given is not None else []
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

    def _living(self, spot: Spot) -> Spot:
        """The same place in the frame that runs it, where there is one: its variables are known."""
        for number, frame in enumerate(self.frames):
            if (frame.file, frame.function) == (spot.file, spot.function):
                return replace(spot_of(self.frames, number), line=spot.line)
        return spot

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
            stack = [self._place(node, spot), *self._callers(spot)]
            owner = core.Owner(name="torch", mechanism=by)
            return [core.Event(kind=core.EventKind.MADE, device="cpu", owner=owner, stack=stack,
                               source=core.DeviceSource.PEER, followed=ast.unparse(node))]  # fmt: skip
        found = self._named(node, spot, left)
        if found:
            return found
        own = f"self.{node.attr}"
        given_by = [(method, value) for method in class_of(node.value, spot)
                    if (value := method.last_given(own)) and not isinstance(value[0], ast.Constant)]  # fmt: skip
        # `self.x = self.x.to(device)` says where it is since: one that is elsewhere is from before.
        first = [each for each in given_by if not _mentions(each[1][0], own)]
        for method, value in first or given_by:
            if self._computed is None:
                self._computed = (value[0], method)
            found = self._trace(value[0], method.before(value[0]), left)
            if found:
                return found
            if _LOADS.search(method.function.rpartition(".")[2]):  # given by a checkpoint: where that is read
                loaded = self._only_checkpoint(method)
                if loaded:
                    return loaded
        if not given_by:
            given_outside = self._only_store(node.attr, spot)
            if given_outside is not None:
                return self._trace(*given_outside, left)
        for kind in kinds_of(node.value, spot):
            given = field_at_only_call(kind, node.attr, spot)
            if given is not None:
                return self._trace(given[0], self._living(given[1]), left)
        holder = node.value.id if isinstance(node.value, ast.Name) else "self"
        field = (
            holder not in ("self", "cls")
            and not spot.is_namespace(node.value)
            and not is_module(spot.value(node.value))
        )
        return self._trace(node.value, spot, left) if field or node.attr in _SAME_PLACE else []

    def _only_store(self, attribute: str, spot: Spot) -> tuple[ast.expr, Spot] | None:
        """What the file's only statement that gives an object ``attribute`` gives it: ``trainer.weights = ...``."""
        whole = tree_at(spot.file)
        found = [
            (value, Spot(spot.file, function, tree, value.lineno, globals=spot.globals))
            for function, tree in (functions_in(whole) if whole is not None else ())
            for _, target, value, is_element in bindings_in(tree)
            if target.endswith(f".{attribute}") and not is_element and not isinstance(value, ast.Constant)
        ]
        return found[0] if len(found) == 1 else None

    def _call(self, call: ast.Call, spot: Spot, left: int) -> list[core.Event]:
        said = said_by(call)
        method = isinstance(call.func, ast.Attribute)
        if said.is_factory:
            like = said.device.removesuffix(".device") if said.peer and said.device else None
            away = self._is_elsewhere(expression(like), spot) if like else self._is_away(said.device, call, spot)
            return [] if away else self._event(call, spot, said.call, is_move=False)
        if method and said.call in MOVES and said.device is not None:
            return [] if self._is_away(said.device, call, spot) else self._event(call, spot, said.call, is_move=True)
        module = spot.value(call.func)
        if is_module(module):
            return self.of_module(module, self._device)
        if _is_reader(call):
            return self._checkpoint(call, spot)
        function = function_of(call, spot)
        if function is not None:
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

    def _is_away(self, device: str | None, call: ast.Call, spot: Spot) -> bool:
        """Whether the call surely puts its result on another device than the one that is looked for."""
        if device is None:
            return self._device != "cpu" and not self._device.startswith("cuda")
        value = spot.value(expression(device))
        text = value if isinstance(value, str) else str(value) if type(value).__name__ == "device" else None
        if text is None and type(value) is int:
            text = f"cuda:{value}"
        if text is None:
            return False
        return text.split(":")[0] != self._device.split(":")[0] or (":" in text and text != self._device)

    def _loaded(self, iterated: ast.AST, spot: Spot) -> list[core.Event]:
        """The event of a DataLoader, when the loop runs over one."""
        here = spot
        for _ in range(4):
            kinds = {base.__name__ for base in type(here.value(iterated)).__mro__}
            called = iterated.func if isinstance(iterated, ast.Call) else None
            name = getattr(called, "attr", getattr(called, "id", ""))
            if "DataLoader" in kinds or name == "DataLoader":
                place = self._place(iterated, here)
                owner = core.Owner(name="DataLoader", mechanism="DataLoader", where=place)
                kind = core.EventKind.LOADED
                return [core.Event(kind=kind, device="cpu", op="DataLoader", owner=owner, stack=[place])]
            if name in ("enumerate", "iter", "tqdm", "next", "zip", "islice") and isinstance(iterated, ast.Call):
                iterated = iterated.args[0] if iterated.args else iterated
                continue
            given = here.last_given(ast.unparse(iterated)) if isinstance(iterated, ast.Name) else None
            if given is None:
                return []
            iterated, here = given[0], here.before(given[0])
        return []

    def _checkpoint(self, call: ast.Call, spot: Spot) -> list[core.Event]:
        """The event of ``torch.load`` or of safetensors' ``load_file``, unless it surely loads to another device."""
        given = {word.arg: word.value for word in call.keywords}
        where = given.get("map_location", given.get("device"))
        if where is not None and self._is_away(ast.unparse(where), call, spot):
            return []
        stack = [self._place(call, spot), *self._callers(spot)]
        setting = "" if where is None else f"map_location={ast.unparse(where)}"
        owner = core.Owner(name="torch.load", mechanism="torch.load", setting=setting, where=stack[0])
        return [core.Event(kind=core.EventKind.LOADED, device=self._device, op="torch.load", owner=owner,
                                stack=stack)]  # fmt: skip

    def only_checkpoint(self, number: int) -> list[core.Event]:
        """Returns the event of the only checkpoint that the file of frame ``number`` reads to the host; or nothing."""
        self._device = "cpu"
        return self._only_checkpoint(spot_of(self.frames, number))

    def _only_checkpoint(self, method: Spot) -> list[core.Event]:
        """The event of the only checkpoint that the file of ``method`` reads."""
        whole = tree_at(method.file)
        places = [("<module>", whole), *functions_in(whole)] if whole is not None else []
        found = [(function, tree, node) for function, tree in places for node in statements_of(tree)
                 if isinstance(node, ast.Call) and _is_reader(node)]  # fmt: skip
        if len(found) != 1:
            return []
        function, tree, node = found[0]
        return self._checkpoint(node, Spot(method.file, function, tree, node.lineno, globals=method.globals))

    def _event(self, call: ast.Call, spot: Spot, name: str, is_move: bool) -> list[core.Event]:
        stack = [self._place(call, spot), *self._callers(spot)]
        event = event_at(stack, self._device, f"aten::{name}", is_move=is_move)
        if not is_move or self._device != "cpu" or event.device_text in ("", '"cpu"', "'cpu'"):
            return [event]
        # A variable says where it went: of the program's paths the one that surely ends on the host counts.
        say_value(event)
        value = event.device_value or event.device_text
        if "cuda" not in value and not self._unsure:
            self._unsure = [event]
        return [event] if value == '"cpu"' else []

    def _callers(self, spot: Spot) -> list[core.Frame]:
        """The places around a spot, as a stack would have them, innermost first."""
        places: list[core.Frame] = []
        while spot.frame is None and len(places) < _DEEPEST:
            found = spot.called_at or only_call(spot)
            if found is None:
                break
            spot = self._living(found[1])
            places.append(self._place(found[0], spot))
        if spot.frame is not None:
            places += [place_of(frame) for frame in reversed(self.frames[: spot.number])]
        return without_machinery(places)

    def _place(self, node: Any, spot: Spot) -> core.Frame:
        ends = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        return place_in(spot.file, spot.function, *ends)


def _is_reader(call: ast.Call) -> bool:
    """Whether ``call`` reads a checkpoint."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr == "load_file" or (
            function.attr == "load" and getattr(function.value, "id", "") == "torch"
        )
    return getattr(function, "id", "") == "load_file"
