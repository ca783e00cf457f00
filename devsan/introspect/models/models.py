"""The models of the program: trees of modules, and what wraps them. Read from dictionaries.

Nothing of a module is called: see NOTE [Nothing runs] in ``values``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from devsan.diagnostics.torch_names import REPLICA
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import dict_in, own_dict
from devsan.introspect.models.reachable import reachable

_WRAPPERS = {
    "DistributedDataParallel": "DDP",
    "DataParallel": "torch.nn.DataParallel",
    "DeepSpeedEngine": "deepspeed",
    "PipelineEngine": "deepspeed",
    "InferenceEngine": "deepspeed",
    "FullyShardedDataParallel": "FSDP",
    "_FabricModule": "lightning",
    "OptimizedModule": "torch.compile",
}
_INNER = ("module", "_forward_module", "_orig_mod", "_fsdp_wrapped_module")
_MOST = 8  # models that are looked at
_ROOTS = 64  # modules of which those that are no part of another are chosen


@dataclass
class Tree:
    """One root module, or a plain object that holds several, as a pipeline does.

    Attributes:
        root: the module under its wrappers; or that object.
        expression: how the program reaches it.
        wrappers: around it, outermost first.
        modules: every module by path, parents first.
        paths: path of each module by id; the first where it is registered twice.
        parts: the modules of a plain object, by attribute.
    """

    root: Any
    expression: str
    wrappers: list[str] = field(default_factory=list)
    modules: dict[str, Any] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        waiting: list[tuple[str, Any]] = [*reversed(self.parts.items()), ("", self.root)]
        while waiting:
            path, module = waiting.pop()
            if id(module) in self.paths:
                continue
            self.paths[id(module)] = path
            self.modules[path] = module
            children = members(module, "_modules").items()
            waiting.extend((f"{path}.{name}" if path else name, child) for name, child in reversed(list(children)))

    def tensors(self) -> Iterator[tuple[str, str, Any, bool]]:
        """Yields (path of the module, name, tensor, whether it is a buffer) of all that is registered."""
        for path, module in self.modules.items():
            for name, tensor, is_buffer in registered(module):
                yield path, name, tensor, is_buffer


def registered(module: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yields (name, tensor, whether it is a buffer) of what ``module`` itself registers."""
    for kept, is_buffer in (("_parameters", False), ("_buffers", True)):
        for name, tensor in members(module, kept).items():
            if is_tensor(tensor):
                yield name, tensor, is_buffer
    for name, tensor in _states(module):
        yield name, tensor, True


def _states(module: Any) -> Iterator[tuple[str, Any]]:
    """Yields the states of a metric of torchmetrics: attributes that its own ``_apply`` moves as torch moves buffers
    (torchmetrics/metric.py, Metric._apply)."""
    kept = own_dict(module)
    defaults = kept.get("_defaults")
    if type(defaults) is dict and "_reductions" in kept:
        for name in defaults:
            held = kept.get(name)
            if is_tensor(held):
                yield str(name), held


def members(module: Any, kept: str) -> dict[str, Any]:
    """Returns one of the dictionaries in which torch.nn.Module keeps what is registered, without the Nones."""
    return {name: held for name, held in dict.items(dict_in(module, kept)) if held is not None}


def models_in(frames: Sequence[Frame], search: bool) -> list[Tree]:
    """Returns the root modules that variables of ``frames`` (outermost first) hold; with ``search`` those that
    they lead to where there are none."""
    found: dict[int, tuple[str, Any]] = {}
    pipelines: list[Tree] = []
    for frame in frames:
        for name, module in _held_by(frame):
            found.setdefault(id(module), (name, module))
        pipelines.extend(_pipelines(frame))
    nn: Any = sys.modules.get("torch.nn")
    if not found and search and nn is not None:
        found = {id(module): ("", module) for module in reachable(frames, nn.Module, _ROOTS)}
    trees = pipelines
    for name, module in found.values():
        root, wrappers = unwrapped(module)
        trees.append(Tree(root, name, wrappers))
        if len(trees) >= 64:
            break
    return _roots(trees)[:_MOST]


def _roots(trees: list[Tree]) -> list[Tree]:
    """Those that are not part of another; the wrapped one of two for the same root."""
    by_root: dict[int, Tree] = {}
    for tree in trees:
        before = by_root.get(id(tree.root))
        if before is None:
            by_root[id(tree.root)] = tree
        elif len(tree.wrappers) > len(before.wrappers):
            before.wrappers = tree.wrappers
    inside = {number for tree in by_root.values() for number, path in tree.paths.items() if path}
    kept = [tree for number, tree in by_root.items() if number not in inside]
    return sorted(kept, key=lambda tree: -len(tree.modules))


def unwrapped(module: Any) -> tuple[Any, list[str]]:
    """Returns the module under what wraps it for parallel work, and the wrappers' names, outermost first."""
    wrappers: list[str] = []
    while (name := type(module).__name__) in _WRAPPERS:
        own = own_dict(module)
        children = members(module, "_modules")
        inner = next((held for key in _INNER if is_module(held := children.get(key, own.get(key)))), None)
        if inner is None:
            break
        wrappers.append(_WRAPPERS[name])
        module = inner
    # A replica of DataParallel runs in a thread where nothing holds the wrapper. Its mark is torch's own
    # (Module._replicate_for_data_parallel in torch/nn/modules/module.py).
    if not wrappers and own_dict(module).get("_is_replica") is True:
        wrappers += [_WRAPPERS["DataParallel"], REPLICA]
    return module, wrappers


def _held_by(frame: Frame) -> Iterator[tuple[str, Any]]:
    for name, value in list(frame.scope.locals.items()):
        if is_module(value):
            yield name, value
        elif not is_tensor(value) and not isinstance(value, (type, ModuleType)):
            for key, member in list(own_dict(value).items())[:64]:
                if is_module(member):
                    yield f"{name}.{key}", member


def _pipelines(frame: Frame) -> Iterator[Tree]:
    """The objects of the frame whose attributes are several models: placed together, or meant to be."""
    for name, value in list(frame.scope.locals.items()):
        if is_module(value) or is_tensor(value) or isinstance(value, (type, ModuleType, dict, list, tuple)):
            continue
        parts = {key: member for key, member in list(own_dict(value).items())[:64] if is_module(member)}
        roots = {id(unwrapped(member)[0]) for member in parts.values()}
        if len(roots) > 1 and any(members(part, "_parameters") or members(part, "_modules") for part in parts.values()):
            yield Tree(value, name, parts=parts)
