"""Where a program places a model: there it is told the planned map instead of its own.

``from_pretrained(device_map=...)`` of transformers, ``dispatch_model``, ``load_checkpoint_and_dispatch`` and
``infer_auto_device_map`` of accelerate, and ``model.to(device)``, which is also how transformers' Trainer and
``Accelerator.prepare`` place it; and where nothing places a model that was made on a GPU (``made_on_gpu``). A plan is
for one process, so that Trainer makes no replicas for the other GPUs.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from devsan import _core
from devsan.blocks.made_on_gpu import MadeOnGpu
from devsan.blocks.tree import parts_of
from devsan.cuda.imports import Change
from devsan.cuda.patches import Patches

_MAP = "device_map"

_FOLLOWS = "peft"
"""It moves adapters to where the model is, which is no placing of the model."""

Device = int | str
"""The ordinal of a GPU, or a device as accelerate writes it: "cuda:1", "cpu", "disk"."""


class Placing:
    """Tells the map, and notes the models that are placed.

    Args:
        device_map: by module or tensor, its device; None for the program's own.
        on_first: whether everything is placed on the first GPU instead.

    Attributes:
        placed: called with each model that is placed.
        times: how often that was.
        whole: the class of a model that was moved and is one block; "" where none was.
        made_whole: whether a model of several blocks was created on a GPU.
    """

    def __init__(self, device_map: Mapping[str, Device] | None, on_first: bool) -> None:
        self._map: dict[str, Device] | None = {"": 0} if on_first else None if device_map is None else dict(device_map)
        self._on_first = on_first
        self._depth = 0
        self._by_program: weakref.WeakSet[Any] = weakref.WeakSet()
        self.placed: Callable[[Any], None] = lambda model: None
        self.times = 0
        self.whole = ""
        self.made_whole = False

    def begin(self, patches: Patches) -> None:
        """Watches ``Module.to`` and ``Module.cuda``, and models that are created on a GPU."""
        import torch

        if self._on_first:
            _core.place_on_first(True)
        kind: Any = torch.nn.Module
        to, cuda = kind.to, kind.cuda

        @functools.wraps(to)
        def moved(module: Any, *args: Any, **named: Any) -> Any:
            device, dtype, *_ = torch._C._nn._parse_to(*args, **named)
            if device is None or device.type != "cuda":
                return to(module, *args, **named)
            return self._move(module, lambda: to(module, *args, **named), lambda: to(module, dtype))

        @functools.wraps(cuda)
        def moved_to_gpu(module: Any, device: Any = None) -> Any:
            return self._move(module, lambda: cuda(module, device), lambda: module)

        patches.set(kind, "to", moved)
        patches.set(kind, "cuda", moved_to_gpu)
        MadeOnGpu(self._place_made).begin(patches)

    def changes(self, patches: Patches) -> dict[str, Change]:
        """Returns what is to be done to the libraries, by the names of modules."""
        return {
            "accelerate.big_modeling": lambda module: self._in_accelerate(module, patches),
            "accelerate.utils.modeling": lambda module: self._in_inference(module, patches),
            "transformers.modeling_utils": lambda module: self._in_transformers(module, patches),
            "transformers.training_args": lambda module: patches.set(
                module.TrainingArguments, "n_gpu", property(lambda _: 1)
            ),
        }

    def _move(self, module: Any, move: Callable[[], Any], convert: Callable[[], Any]) -> Any:
        if self._depth or getattr(module, "hf_device_map", None) or _is_by(_FOLLOWS):
            return move()
        if not _is_divided(module):
            self.whole = type(module).__name__
            return move()
        if self._map is None or self._on_first:
            return self._noted(move)
        from accelerate import dispatch_model

        if not _is_of(self._map, module):
            return move()
        convert()
        return dispatch_model(module, device_map=self._map)

    def _place_made(self, model: Any) -> None:
        parts = list(model.modules())  # a wrapper around a model that has been placed is none that was made
        if any(part in self._by_program or getattr(part, "hf_device_map", None) for part in parts):
            return
        self.made_whole = self.made_whole or _is_divided(model)
        self._move(model, lambda: model, lambda: model)

    def _noted(self, place: Callable[[], Any]) -> Any:
        self._depth += 1
        try:
            model = place()
        finally:
            self._depth -= 1
        if not self._depth:
            self.times += 1
            self._by_program.add(model)
            self.placed(model)
        return model

    def _with_map(self, function: Any, position: int) -> Any:
        @functools.wraps(function)
        def placed(*args: Any, **named: Any) -> Any:
            if self._map is not None and not self._depth:
                args = (*args[:position], self._map, *args[position + 1 :]) if len(args) > position else args
                named = named if len(args) > position else {**named, _MAP: self._map}
            return self._noted(lambda: function(*args, **named))

        return placed

    def _in_accelerate(self, module: Any, patches: Patches) -> None:
        for name, position in (("dispatch_model", 1), ("load_checkpoint_and_dispatch", 2)):
            patches.set(module, name, self._with_map(getattr(module, name), position))

    def _in_inference(self, module: Any, patches: Patches) -> None:
        infer = module.infer_auto_device_map

        @functools.wraps(infer)
        def inferred(*args: Any, **named: Any) -> Any:
            return infer(*args, **named) if self._map is None else dict(self._map)

        patches.set(module, "infer_auto_device_map", inferred)

    def _in_transformers(self, module: Any, patches: Patches) -> None:
        load = vars(module.PreTrainedModel)["from_pretrained"]

        @functools.wraps(load.__func__)
        def loaded(cls: Any, *args: Any, **named: Any) -> Any:
            if named.get(_MAP) is None or self._depth:
                return load.__func__(cls, *args, **named)
            if self._map is not None:
                named[_MAP] = dict(self._map)
            found: list[Any] = []

            def place() -> Any:
                found.append(load.__func__(cls, *args, **named))  # with output_loading_info a tuple
                model = found[0][0] if isinstance(found[0], tuple) else found[0]
                if not hasattr(model, "hf_device_map"):  # transformers has none of one device; the job has several
                    model.hf_device_map = dict(self._map or {"": 0})
                return model

            self._noted(place)
            return found[0]

        patches.set(module.PreTrainedModel, "from_pretrained", classmethod(loaded))


def _is_by(library: str) -> bool:
    """Whether a function of ``library`` has called what calls this (``Placing._move`` and the method of Module)."""
    return str(sys._getframe(3).f_globals.get("__name__", "")).partition(".")[0] == library


def _is_divided(module: Any) -> bool:
    return len(parts_of(module)) > 1


def _is_of(device_map: Mapping[str, Device], module: Any) -> bool:
    """Whether the map has entries of this model: every one names something in it."""
    names = {path for path, _ in module.named_modules()} | {path for path, _ in parts_of(module)}
    return set(device_map) <= names
