"""How the operands of a failure came to be where they are, from all that tells of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.expressions import Expression, operands_at
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.roots import held_as
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING
from devsan.introspect.models.device_maps import settle
from devsan.introspect.models.leaves import leaf_of
from devsan.introspect.models.registry import ATTRIBUTE, Registry
from devsan.introspect.operands.kinds import Kinds
from devsan.introspect.provenance import creation
from devsan.introspect.provenance.device_values import say_value
from devsan.introspect.provenance.lineage import Lineage
from devsan.introspect.provenance.originals import through_copy
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.owners.program import BACKWARD


class Origins:
    """Reads the provenance of operands: the records first, then the modules that computed them, then the source.

    Args:
        reader: reads the records.
        registry: of the program's models.
        models: the core's Models, in the registry's order.
        optimizers: living ones that may keep an operand.
        frames: of the traceback, outermost first.
        kinds: tells what operands are.
    """

    def __init__(
        self, reader: ProvenanceReader, registry: Registry, models: Sequence[core.Model], optimizers: Sequence[Any],
        frames: Sequence[Frame], kinds: Kinds,
    ) -> None:  # fmt: skip
        self.reader, self.registry, self.models = reader, registry, models
        self.optimizers, self.frames, self.kinds = optimizers, frames, kinds
        self.lineage = Lineage(frames, self._computed_by, self._computed_from)

    def note(
        self, operand: core.Operand, value: object, at: Expression | None, frame: Frame | None, origin: tuple[int, str],
        main: int | None,
    ) -> None:  # fmt: skip
        """Fills in the provenance of ``operand``, and the copies of it.

        Args:
            operand: whose kind, device and name are known.
            value: the tensor, where a variable holds it.
            at: its expression in ``frame``; None where it has none.
            frame: the frame that is shown.
            origin: the number of the placement that the core kept at the refusal, and what computed it.
            main: number of the model that it belongs to.
        """
        model = self.models[main or 0] if self.models else None
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
            events = _taken_away(model, operand.qualified_name)
        settled = settle(events, operand.qualified_name, model)
        for event in settled:
            say_value(event)
        operand.provenance = settled
        if frame is not None and operand.name:
            operand.copies = list(creation.copies_of(operand.name, frame)) or self._left_behind(operand, frame)

    def note_gradient(self, operand: core.Operand, value: Any) -> None:
        """Names a gradient in a list of torch's own by its parameter, which is no model's."""
        leaf = leaf_of(value, self.optimizers)
        held = held_as(leaf, self.frames) if leaf is not None and self.registry.home_of(leaf) is None else None
        if held is not None:
            number, node = held
            operand.name = ast.unparse(node)
            events = self.reader.of(leaf) or self.lineage.of(node, number, str(operand.device))
            operand.provenance = events or operand.provenance

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


def _taken_away(model: core.Model | None, path: str) -> list[core.Event]:
    """The event of the hook that left a placeholder for the weight at ``path``."""
    for module in model.modules if path and model is not None else ():
        for hook in module.hooks if module.path == path.rpartition(".")[0] else ():
            if hook.offload:
                return [core.Event(kind=core.EventKind.MOVED, device="meta", op=hook.type, owner=hook.owner)]
    return []


def _is_by_backward(events: Sequence[core.Event]) -> bool:
    """Whether the newest that decided was a backward pass: a gradient is where its parameter is."""
    kinds = core.EventKind
    decided = (event for event in events if event.kind not in (kinds.COMPUTED, kinds.SHARED))
    newest = next(decided, None)
    return newest is not None and newest.owner.mechanism == BACKWARD
