"""Where the models keep the operands of a failure: paths, and what stands beside them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.scopes import spot_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.models.ignored import ignored_at
from devsan.introspect.models.models import Tree, members
from devsan.introspect.models.overrides import override_of
from devsan.introspect.models.registry import ATTRIBUTE, Home, Registry
from devsan.introspect.models.replaced import replaced_at, replaced_where_made
from devsan.introspect.provenance.lineage import Lineage

_LOADED = re.compile(r"(\w+)\.load_state_dict\(")


class Homes:
    """Tells where operands are kept.

    Args:
        registry: of the program's models.
        frames: of the traceback, outermost first.
        place: number of the frame to show.

    Attributes:
        main: number of the model that the operands belong to; None where none is kept by one.
    """

    def __init__(self, registry: Registry, frames: Sequence[Frame], place: int) -> None:
        self.registry, self.frames, self.place = registry, frames, place
        self.main: int | None = None

    def note(self, operand: core.Operand, home: Home) -> None:
        """Fills in where ``operand`` is kept, which is ``home``."""
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
        for base in (*_bases_of(home.path), *_frozen_beside(tree, home.path)):
            if not operand.beside:
                self._beside(operand, tree, base)

    def in_running(self, home: Home) -> Home:
        """Returns where the model whose module runs keeps the tensor of ``home``: two models may have one tensor."""
        for frame in reversed(self.frames):
            running = self.registry.path_of(frame.scope.locals.get("self"))
            if running is not None:
                other = self.registry.home_in(running[0], home) if running[0] != home.tree else None
                return other if other is not None else home
        return home

    def note_replaced(self, operand: core.Operand, home: Home, lineage: Lineage) -> None:
        """Fills in the line that put a weight in the place of the one that was moved, once its provenance is known."""
        tree = self.registry.trees[home.tree]
        holder = tree.modules.get(home.holder)
        path = home.path if home.holder else f"{tree.expression}.{home.name}"
        own = [number for number, each in enumerate(self.frames) if each.whose is Whose.PROGRAM]
        kinds = [event.kind for event in operand.provenance]
        newest = next((kind for kind in kinds if kind != core.EventKind.COMPUTED), None)
        loaded = newest == core.EventKind.LOADED  # what is on a GPU may have been moved by what moved the module
        stayed = str(operand.device) == "cpu" and core.EventKind.MOVED not in kinds
        computed = kinds[:1] == [core.EventKind.COMPUTED]  # no module computes its own
        taken = not (loaded or stayed or computed) and self._is_of_two_models(home)
        if holder is None or not own or not (loaded or stayed or computed or taken):
            return
        place = replaced_at(holder, path, spot_of(self.frames, own[-1]), not home.holder)
        made = _made_in(operand.provenance) if place is None else None
        place = made if made is not None and replaced_where_made(made, holder, path) else place
        if place is None or (taken and not _is_loaded_into(place.source, (tree.expression, home.holder))):
            return
        operand.replaced_at = place
        if newest is None and "load_state_dict" in place.source:
            operand.provenance = [*operand.provenance, *lineage.only_checkpoint(own[-1])]

    def _is_of_two_models(self, home: Home) -> bool:
        """Whether another model has the tensor of ``home`` in a module of its own: a module may be part of both."""
        module = self.registry.trees[home.tree].modules.get(home.holder)
        others = (each for each in self.registry.homes_of(home) if each.tree != home.tree)
        return any(self.registry.trees[each.tree].modules.get(each.holder) is not module for each in others)

    def note_ignored(self, operand: core.Operand, home: Home) -> None:
        """Fills in the line that leaves a weight on the host out of what FSDP moves."""
        own = [number for number, each in enumerate(self.frames) if each.whose is Whose.PROGRAM]
        if str(operand.device) == "cpu" and own:
            place = ignored_at(self.registry.trees[home.tree], spot_of(self.frames, own[-1]))
            if place is not None:
                operand.ignored_at = place

    def note_weight_of_callee(self, operand: core.Operand) -> None:
        """Fills in a weight of the module that the shown line calls, where it alone is on the device there."""
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

    def _beside(self, operand: core.Operand, tree: Tree, base: str) -> None:
        holder, _, name = base.rpartition(".")
        module = tree.modules.get(holder)
        for kept in ("_parameters", "_buffers"):
            tensor: Any = members(module, kept).get(name) if module is not None else None
            if is_tensor(tensor):
                operand.beside, operand.beside_device = base, core.Device(str(tensor.device))


def _is_loaded_into(source: str, paths: Sequence[str]) -> bool:
    """Whether a statement loads weights into what one of these paths ends in, or leads through."""
    loaded = _LOADED.search(source)
    return loaded is not None and loaded[1] in {part for path in paths for part in path.split(".")}


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


_PARTS_OF_ADAPTER = 4  # its base, what goes down and up again, and a dropout


def _frozen_beside(tree: Tree, path: str) -> list[str]:
    """Where the frozen weight is that the layer of a trained one stands beside: ``q_proj.base`` of ``q_proj.a``, as
    adapters that are written by hand have it."""
    layer, _, name = path.rpartition(".")
    trained = members(tree.modules.get(layer), "_parameters").get(name) if layer in tree.modules else None
    if trained is None or not trained.requires_grad:
        return []
    for around in (layer, layer.rpartition(".")[0]):
        # The root is no adapter, nor what has many parts: a network with a frozen base and heads that learn.
        whole = tree.modules.get(around) if around else None
        if whole is None or len(members(whole, "_modules")) > _PARTS_OF_ADAPTER:
            continue
        for base in ("base_layer", "base"):
            module = tree.modules.get(f"{around}.{base}")
            frozen = members(module, "_parameters").get("weight") if module is not None else None
            if frozen is not None and not frozen.requires_grad:
                return [f"{around}.{base}.weight"]
    return []


def _made_in(events: Sequence[core.Event]) -> core.Frame | None:
    """The statement of the program in which what has these events was made."""
    made = next((event for event in events if event.kind == core.EventKind.MADE), None)
    return next((frame for frame in made.stack if frame.is_program), None) if made is not None else None
