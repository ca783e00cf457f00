"""The operands of a failure as facts: names, kinds, where each is kept, and its provenance."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.expressions import Expression, operands_at
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import clean, place
from devsan.introspect.frames.roots import held_as, held_in, is_view_of, only_tensor, root_of, tensor_in
from devsan.introspect.frames.scopes import spot_of
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of, placement_of
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.frames.values import MISSING
from devsan.introspect.given import Call
from devsan.introspect.models.batches import kept_in, left_in
from devsan.introspect.models.device_maps import settle
from devsan.introspect.models.functions import keeper_of
from devsan.introspect.models.ignored import ignored_at
from devsan.introspect.models.leaves import leaf_of
from devsan.introspect.models.members import lone_member
from devsan.introspect.models.models import Tree, members
from devsan.introspect.models.overrides import override_of
from devsan.introspect.models.producers import made_by_module
from devsan.introspect.models.referrers import optimizer_state
from devsan.introspect.models.registry import ATTRIBUTE, Home, Registry
from devsan.introspect.models.replaced import replaced_at, replaced_where_made
from devsan.introspect.operand_kinds import Kinds
from devsan.introspect.provenance import creation
from devsan.introspect.provenance.device_values import say_value
from devsan.introspect.provenance.lineage import Lineage
from devsan.introspect.provenance.originals import through_copy
from devsan.introspect.provenance.peer_names import device_there
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.provenance.without_effect import MovesWithoutEffect, Seen, with_last_word
from devsan.owners.program import BACKWARD

_MOST = 16  # operands
_SIZES = {"float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2,
          "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip


class Operands:
    """Describes the operands of one failure.

    Args:
        reader: reads their reader.
        registry: of the program's models.
        models: the core's Models, in the registry's order.
        optimizers: living ones that may keep an operand.
        frames: of the traceback, outermost first.
        place: number of the frame to show.
    """

    def __init__(
        self, reader: ProvenanceReader, registry: Registry, models: Sequence[core.Model], optimizers: Sequence[Any],
        frames: Sequence[Frame], place: int,
    ) -> None:  # fmt: skip
        self.reader, self.registry, self.models = reader, registry, models
        self.optimizers, self.frames, self.place = optimizers, frames, place
        self.kinds = Kinds(registry, optimizers, frames, ())
        self.main: int | None = None  # number of the model that the operands belong to
        self.lineage = Lineage(frames, self._computed_by, self._computed_from)
        self.moves = MovesWithoutEffect(frames)
        self.call = Call(frames, place)

    def describe(self, operands: Sequence[Tracked]) -> list[core.Operand]:
        """Returns the core's Operands, in the order of the source."""
        self.kinds.together = [self._held(operand) for operand in operands]
        few = _few(operands)
        described = [self._describe(operand) for operand in few]
        for operand in described:
            _name_device(operand, described)
        seen = [self._seen(operand) for operand in few]
        weights = (core.OperandKind.PARAMETER, core.OperandKind.BUFFER)
        everywhere = [Seen(at.plain().node, self.frames.index(frame), str(operand.device))
                      for (at, frame), operand in zip(seen, described, strict=True) if at and frame]  # fmt: skip
        for (at, frame), operand in zip(seen, described, strict=True):
            others = [each for each in everywhere if each.device not in ("", "meta", str(operand.device))]
            if at is not None and frame is not None and others and operand.kind not in weights:
                self._without_effect(operand, at, frame, others)
        return described

    def _describe(self, tracked: Tracked) -> core.Operand:
        at, frame = self._seen(tracked)
        value, root, shown = tracked.value, None, None
        name, span = "", core.Span()
        if at is not None and frame is not None:
            value, root = self._value(at, frame, tracked)
            shown = root if root is not None and self._is_view(root, at, frame, tracked) else None
            name = at.text(frame) if shown is None else frame.segment(shown)
            node: Any = at.node
            if hasattr(node, "lineno"):  # a name that was made up has no place
                span = place(frame.code, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset).span
        operand = core.Operand(role=tracked.role or "", name=clean(name), offending=tracked.offending, span=span)
        whole = at is None or frame is None or shown is not None or value is tracked.value or at.value(frame) is value
        if not is_tensor(value) and tracked.storage:  # model.get_submodule(name).weight, which nobody else holds
            kept = self.registry.kept_in(tracked.storage)
            value = value if kept is None else kept
        own = placement_of(value) if is_tensor(value) and whole else None  # a part has a shape of its own
        self._placed(operand, own, tracked.placement)
        if at is not None and frame is not None and not isinstance(at.node, (ast.Name, ast.Attribute)):
            part = tensor_in(at.node, frame, str(operand.device))
            operand.made_of = clean(frame.segment(part)) if part is not None else ""
        node = root if root is not None else at.node if at is not None else None
        kind, home = self.kinds.of(value, str(operand.device), node, frame)
        if home is not None:
            self._at_home(operand, home)
        operand.kind = core.OperandKind.__members__[kind]
        if kind == ATTRIBUTE and home is None and frame is not None and is_module(frame.scope.locals.get("self")):
            operand.holder = type(frame.scope.locals["self"]).__name__
        if kind == "GLOBAL" and is_tensor(value):
            operand.holder = keeper_of(value, self.frames)
            operand.kept_as = "" if operand.holder else self.kinds.in_class(value)
        if at is None and not is_tensor(value):
            self._of_callee(operand)
        if frame is not None and frame.whose is Whose.HIDDEN:
            operand.output_of = made_by_module(tracked, self.frames)
        if (operand.qualified_name or operand.output_of) and frame is not None and frame.whose is Whose.HIDDEN:
            operand.name = ""  # torch's own variable: the path in the model says more
        listed = (
            operand.name.endswith("]") and frame is not None and frame.whose is Whose.HIDDEN
        )  # one of torch's lists
        if kind == "OPTIMIZER_STATE" and listed and is_tensor(value):
            operand.name = optimizer_state(self.optimizers, value) or operand.name  # as the optimizer calls it
        if is_tensor(value):
            operand.requires_grad, operand.is_leaf = _grad(value)
        self._provenance(operand, value, at, frame, tracked.origin)
        if listed and is_tensor(value) and home is None:
            self._as_gradient(operand, value)
        if home is not None and home.registered and home.kind != ATTRIBUTE:
            self._replaced(operand, home)
            self._ignored(operand, home)
        elif home is None and (is_tensor(value) or tracked.storage):
            held, memory = (value, memory_of(value) or 0) if is_tensor(value) else (None, tracked.storage)
            operand.left_in, operand.moved_part = left_in(held, memory, str(operand.device), self.frames) or ("", "")
            if held is not None:
                self._in_object(operand, held)
                if kind == "INPUT" and not operand.left_in and str(operand.device) == "cpu":
                    operand.kept_as = kept_in(held, self.frames)
        if at is None:  # the operator's own word for it says nothing
            operand.name = operand.kept_as or self._of_sum(operand)
        self._as_given(operand, tracked)
        if kind == "INPUT" and operand.provenance and operand.provenance[0].followed and self.models:
            operand.kind = core.OperandKind.TEMPORARY  # handed on; what a module made of it
        return operand

    def _of_sum(self, operand: core.Operand) -> str:
        """What Python's ``sum`` has added up so far, as the program's line writes it; "" for anything else."""
        node = self.frames[self.place].node
        is_sum = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "sum"
        return "sum(...)" if is_sum and operand.role == "self" else ""

    def _as_given(self, operand: core.Operand, tracked: Tracked) -> None:
        """What the program's call passes on for it to a library, and what has its device there."""
        operand.asked = self.call.asked(tracked)
        given = self.call.given(tracked)
        if given is not None:
            operand.given, operand.given_in = list(given.names), given.kept_in

    def _is_view(self, root: ast.AST, at: Expression, frame: Frame, tracked: Tracked) -> bool:
        """Whether what ``at`` makes of ``root`` is ``root`` itself or a view of it, and so may be called by its name.

        By its memory where the core knew that, else by the methods that are called on it.
        """
        held = frame.scope.value(root)
        if is_tensor(held) and tracked.storage and memory_of(held) == tracked.storage:
            return True
        return is_view_of(at.node, root)

    def _seen(self, tracked: Tracked) -> tuple[Expression | None, Frame | None]:
        if not tracked.at:
            return None, None
        number = self.place if self.place in tracked.at else max(tracked.at)
        return tracked.at[number], self.frames[number]

    def _held(self, tracked: Tracked) -> object:
        """The operand, or the tensor that it is made from: ``parameter`` of ``parameter.detach()``."""
        at, frame = self._seen(tracked)
        return self._value(at, frame, tracked)[0] if at is not None and frame is not None else tracked.value

    def _value(self, at: Expression, frame: Frame, tracked: Tracked) -> tuple[object, ast.AST | None]:
        """The tensor that ``at`` stands for; or one that it is made from without leaving its device, and its node."""
        value = at.value(frame)
        if is_tensor(value) or at.path:
            return (value if is_tensor(value) else tracked.value), None
        # What is elsewhere as a whole was moved while the exception passed; a part that is elsewhere was moved here.
        now = [each.device for each in (tracked.placement, at.placement(frame)) if each is not None]
        for root in (root_of(at.node), only_tensor(at.node, frame)):
            held = frame.scope.value(root)
            placed = placement_of(held) if is_tensor(held) else None
            if placed is not None and (tracked.placement is None or placed.device in now):
                return held, root
        part = held_in(at.node, frame)
        return (frame.scope.value(part) if part is not None else tracked.value), None

    def _placed(self, operand: core.Operand, own: Placement | None, seen: Placement | None) -> None:
        placement = seen or own
        if placement is None:
            return
        operand.device = core.Device(placement.device)
        best = own if own is not None and own.device == placement.device else placement
        if best.dtype is not None:
            operand.dtype = best.dtype
        if best.shape is not None:
            operand.shape = list(best.shape)
            count = 1
            for size in best.shape:
                count *= size
            operand.bytes = count * _SIZES.get(best.dtype or "", 4)

    def _at_home(self, operand: core.Operand, home: Home) -> None:
        tree = self.registry.trees[home.tree]
        operand.holder, operand.registered = home.holder or type(tree.root).__name__, home.registered
        if home.registered and home.kind != ATTRIBUTE:
            operand.qualified_name = home.path
            operand.tied_to = self.registry.tied_to(home)
        else:
            operand.kept_as = home.path
            attribute = re.split(r"[.\[(]", home.name)[0]
            override = override_of(tree.modules.get(home.holder), attribute) if home.holder else None
            if override is not None:  # the root's own is called
                operand.override_at = override
        self.main = home.tree
        for base in _bases_of(home.path):
            if not operand.beside:
                self._beside(operand, tree, base)

    def _replaced(self, operand: core.Operand, home: Home) -> None:
        tree = self.registry.trees[home.tree]
        holder = tree.modules.get(home.holder)
        path = home.path if home.holder else f"{tree.expression}.{home.name}"
        own = [number for number, each in enumerate(self.frames) if each.whose is Whose.PROGRAM]
        kinds = [event.kind for event in operand.provenance]
        newest = next((kind for kind in kinds if kind != core.EventKind.COMPUTED), None)
        loaded = newest == core.EventKind.LOADED  # what is on a GPU may have been moved by what moved the module
        stayed = str(operand.device) == "cpu" and core.EventKind.MOVED not in kinds
        computed = kinds[:1] == [core.EventKind.COMPUTED]  # no module computes its own
        if holder is None or not own or not (loaded or stayed or computed):
            return
        place = replaced_at(holder, path, spot_of(self.frames, own[-1]), not home.holder)
        made = _made_in(operand.provenance) if place is None else None
        place = made if made is not None and replaced_where_made(made, holder, path) else place
        if place is None:
            return
        operand.replaced_at = place
        if newest is None and "load_state_dict" in place.source:
            operand.provenance = [*operand.provenance, *self.lineage.only_checkpoint(own[-1])]

    def _in_object(self, operand: core.Operand, value: object) -> None:
        member = lone_member(value, self.frames) if str(operand.device).startswith("cuda") else None
        if member is not None:
            operand.member, operand.member_of = member.expression, member.owner
            operand.member_home = core.Device(member.home)
            if member.given is not None:
                operand.member_given = member.given

    def _ignored(self, operand: core.Operand, home: Home) -> None:
        own = [number for number, each in enumerate(self.frames) if each.whose is Whose.PROGRAM]
        if str(operand.device) == "cpu" and own:
            place = ignored_at(self.registry.trees[home.tree], spot_of(self.frames, own[-1]))
            if place is not None:
                operand.ignored_at = place

    def _beside(self, operand: core.Operand, tree: Tree, base: str) -> None:
        holder, _, name = base.rpartition(".")
        module = tree.modules.get(holder)
        for kept in ("_parameters", "_buffers"):
            tensor: Any = members(module, kept).get(name) if module is not None else None
            if is_tensor(tensor):
                operand.beside, operand.beside_device = base, core.Device(str(tensor.device))

    def _provenance(
        self, operand: core.Operand, value: object, at: Expression | None, frame: Frame | None, origin: tuple[int, str]
    ) -> None:
        model = self.models[self.main or 0] if self.models else None
        events: list[core.Event] = []
        if is_tensor(value) and operand.device == core.Device(str(getattr(value, "device", ""))):
            events = through_copy(self.reader.of(value), value, self.frames, self.reader)
        device = str(operand.device)
        if not events and frame is not None and at is not None:
            events = self._of_module(at.node, frame, device)
        events = events or self.reader.from_origin(*origin)  # of what no variable holds
        computed = (core.EventKind.COMPUTED, core.EventKind.SHARED)
        undecided = all(event.kind in computed for event in events)
        loose = not events or operand.kind not in (core.OperandKind.PARAMETER, core.OperandKind.BUFFER)
        if (undecided or _is_by_backward(events)) and loose and frame is not None and at is not None:
            found = self.lineage.of(at.node, self.frames.index(frame), device)
            events = [*(each for each in events if each.kind in computed), *found] if found else events
        if not events and device == "cpu" and is_tensor(value):
            events = self._given(operand, value, frame)
        of_torch = all(event.owner.name in ("", "torch") for event in events)
        if operand.kind == core.OperandKind.OPTIMIZER_STATE and device == "cpu" and of_torch:
            own = [number for number, each in enumerate(self.frames) if each.whose is Whose.PROGRAM]
            events = (self.lineage.only_checkpoint(own[-1]) if own else []) or events
        if device == "meta" and not events:
            events = self._taken_away(operand.qualified_name)
        settled = settle(events, operand.qualified_name, model)
        for event in settled:
            say_value(event)
        operand.provenance = settled
        if frame is not None and operand.name:
            operand.copies = list(creation.copies_of(operand.name, frame)) or self._left_behind(operand, frame)

    def _without_effect(self, operand: core.Operand, at: Expression, frame: Frame, others: Sequence[Seen]) -> None:
        """Notes the move that the program wrote for ``operand`` and that moved nothing, so that it met ``others``."""
        seen = Seen(at.plain().node, self.frames.index(frame), str(operand.device))
        if not operand.copies:
            found = self.moves.dropped(seen, {each.device for each in others})
            operand.copies = [found] if found is not None else self.moves.dropped_of_holder(seen)
        across = seen.device != "cpu" and others[0].device != "cpu"
        idle = self.moves.idle(seen, others[0]) if across and not operand.copies else None
        if idle is not None:
            operand.provenance = with_last_word(operand.provenance, idle)

    def _given(self, operand: core.Operand, value: Any, frame: Frame | None) -> list[core.Event]:
        """The provenance of a tensor of the host as the program's own frames write it, where they gave it to the
        model; of
        what a library has made of it, that of the only one that the model was given on the host."""
        if frame is not None and frame.whose is not Whose.PROGRAM and operand.kind != core.OperandKind.INPUT:
            on_host = self.kinds.given_on_host()
            if len(on_host) != 1 or operand.kind in (core.OperandKind.PARAMETER, core.OperandKind.BUFFER):
                return []
            operand.kind, value = core.OperandKind.INPUT, on_host[0]
        for number in reversed(range(len(self.frames))):
            outer = self.frames[number]
            if outer.whose is not Whose.PROGRAM:
                continue
            for each in operands_at(outer):
                if each.value(outer) is value:
                    events = self.lineage.of(each.node, number, "cpu")
                    if events:
                        return events
        return []

    def _of_callee(self, operand: core.Operand) -> None:
        """A weight of the module that the shown line calls, where it is the only thing there that is on the device."""
        frame = self.frames[self.place] if 0 <= self.place < len(self.frames) else None
        called = frame.scope.value(frame.node.func) if frame is not None and isinstance(frame.node, ast.Call) else None
        if not is_module(called):
            return
        for module in (called, members(called, "_modules").get("_orig_mod")):  # torch.compile wraps
            found = self.registry.path_of(module) if is_module(module) else None
            for path, name, tensor, is_buffer in self.registry.trees[found[0]].tensors() if found is not None else ():
                inside = path == found[1] or path.startswith(f"{found[1]}.") or not found[1]  # type: ignore[index]
                if inside and str(tensor.device) == str(operand.device):
                    operand.qualified_name = ".".join(part for part in (path, name) if part)
                    operand.kind = core.OperandKind.BUFFER if is_buffer else core.OperandKind.PARAMETER
                    return

    def _as_gradient(self, operand: core.Operand, value: Any) -> None:
        """The gradient of no model's parameter, in a list of torch's own, is called by that parameter's name."""
        leaf = leaf_of(value, self.optimizers)
        held = held_as(leaf, self.frames) if leaf is not None and self.registry.home_of(leaf) is None else None
        if held is not None:
            number, node = held
            operand.name = ast.unparse(node)
            events = self.reader.of(leaf) or self.lineage.of(node, number, str(operand.device))
            operand.provenance = events or operand.provenance

    def _taken_away(self, path: str) -> list[core.Event]:
        """The event of the hook that left a placeholder for the weight at ``path``."""
        for module in self.models[self.main or 0].modules if path and self.models else ():
            for hook in module.hooks if module.path == path.rpartition(".")[0] else ():
                if hook.offload:
                    return [core.Event(kind=core.EventKind.MOVED, device="meta", op=hook.type, owner=hook.owner)]
        return []

    def _of_module(self, node: ast.AST, frame: Frame, device: str) -> list[core.Event]:
        """The provenance of what ``self.up(x)`` computed: where its weights are."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held = frame.scope.value(node.func)
            if is_module(held):
                break
            node = node.func.value
        module = frame.scope.value(node.func) if isinstance(node, ast.Call) else MISSING
        return self._computed_by(module, device)

    def _computed_by(self, module: object, device: str) -> list[core.Event]:
        """The provenance of what ``module`` computes on ``device``: that of its weights there."""
        found = self.registry.path_of(module) if is_module(module) else None
        if found is None:
            return []
        for path, name, tensor, _ in self.registry.trees[found[0]].tensors():
            inside = not found[1] or path == found[1] or path.startswith(found[1] + ".")
            if inside and str(tensor.device) == device:
                return self._following(".".join(part for part in (path, name) if part), tensor, found[0])
        return []

    def _computed_from(self, tensor: Any) -> list[core.Event]:
        """The provenance of what is computed from ``tensor``, if a model registers it."""
        home = self.registry.home_of(tensor)
        if home is None or not home.registered or home.kind == ATTRIBUTE:
            return []
        return self._following(home.path, tensor, home.tree)

    def _following(self, path: str, tensor: Any, tree: int) -> list[core.Event]:
        computed = core.Event(kind=core.EventKind.COMPUTED, device=str(tensor.device), followed=path)
        return settle([computed, *self.reader.of(tensor)], path, self.models[tree])

    def _left_behind(self, operand: core.Operand, frame: Frame) -> list[core.Event]:
        """The move of the parameter that a variable was bound to, or copied from, before that: ``W = layer.weight``."""
        value = creation.last_value(operand.name, frame)
        for node in ast.walk(value) if value is not None else ():
            held = frame.scope.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else MISSING
            if is_tensor(held) and str(held.device) != str(operand.device) and self.registry.home_of(held) is not None:  # type: ignore[attr-defined]
                return self.reader.of(held)[:1]
        return []


def _name_device(operand: core.Operand, all_of_them: Sequence[core.Operand]) -> None:
    """Says what the function that loaded ``operand`` calls the device of the one that it meets."""
    placed = operand.placement
    if placed is None or placed.kind != core.EventKind.LOADED or not operand.kept_as:
        return
    for other in all_of_them:
        if str(other.device) != str(operand.device):
            operand.device_there = device_there(placed, str(other.device), other.placement)
            return


def _few(operands: Sequence[Tracked]) -> list[Tracked]:
    """Returns the first operands, and the first of each device that none of these is on: lists may be long."""
    few = list(operands[:_MOST])
    devices = {each.placement.device for each in few if each.placement is not None}
    for each in operands[_MOST:]:
        if each.placement is not None and each.placement.device not in devices:
            devices.add(each.placement.device)
            few.append(each)
    return few


def _is_by_backward(events: Sequence[core.Event]) -> bool:
    """Whether the newest that decided was a backward pass: a gradient is where its parameter is."""
    kinds = core.EventKind
    decided = (event for event in events if event.kind not in (kinds.COMPUTED, kinds.SHARED))
    newest = next(decided, None)
    return newest is not None and newest.owner.mechanism == BACKWARD


def _bases_of(path: str) -> list[str]:
    """Where the weight may be that an adapter's tensor, or a quantized weight's state, stands beside."""
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


def _made_in(events: Sequence[core.Event]) -> core.Frame | None:
    """The statement of the program in which what has these events was made."""
    made = next((event for event in events if event.kind == core.EventKind.MADE), None)
    return next((frame for frame in made.stack if frame.is_program), None) if made is not None else None
