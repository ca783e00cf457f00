"""The models of the program: modules with their tensors and hooks, device maps, wrappers. Read from dictionaries.

Nothing of a module is called: see NOTE [Nothing runs] in ``values``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from devsan.probe.frames import Frame
from devsan.probe.places import package_of
from devsan.probe.tensors import dtype_name, is_module, is_tensor
from devsan.probe.values import dict_in, is_a, own_dict

_CONTAINERS = frozenset({"ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict"})
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
            for kept, is_buffer in (("_parameters", False), ("_buffers", True)):
                for name, tensor in members(module, kept).items():
                    if is_tensor(tensor):
                        yield path, name, tensor, is_buffer


def members(module: Any, kept: str) -> dict[str, Any]:
    """Returns one of the dictionaries in which torch.nn.Module keeps what is registered, without the Nones."""
    return {name: held for name, held in dict.items(dict_in(module, kept)) if held is not None}


def models_in(frames: Sequence[Frame], search: bool) -> list[Tree]:
    """Returns the root modules that variables of ``frames`` (outermost first) hold; with ``search`` those of the heap
    where there are none."""
    found: dict[int, tuple[str, Any]] = {}
    pipelines: list[Tree] = []
    for frame in frames:
        for name, module in _held_by(frame):
            found.setdefault(id(module), (name, module))
        pipelines.extend(_pipelines(frame))
    if not found and search:
        found = {id(module): ("", module) for module in on_heap("torch.nn", "Module")}
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
    return module, wrappers


def on_heap(module: str, kind: str, most: int = 64) -> list[Any]:
    """Returns living objects of a class of torch and its subclasses, outermost first where they hold each other."""
    import sys

    base = getattr(sys.modules.get(module), kind, None)
    if not isinstance(base, type):
        return []
    kinds: set[type] = {base}
    waiting: list[type] = [base]
    while waiting:
        children: list[type] = type.__subclasses__(waiting.pop())
        for child in children:
            if child not in kinds:
                kinds.add(child)
                waiting.append(child)
    found = [each for each in gc.get_objects() if type(each) in kinds]
    if kind != "Module":
        return found[:most]
    inside = {id(child) for each in found for child in members(each, "_modules").values()}
    return [each for each in found if id(each) not in inside][:most]


def _held_by(frame: Frame) -> Iterator[tuple[str, Any]]:
    for name, value in list(frame.scope.locals.items()):
        if is_module(value):
            yield name, value
        elif not is_tensor(value) and not isinstance(value, type):
            for key, member in list(own_dict(value).items())[:64]:
                if is_module(member):
                    yield f"{name}.{key}", member


def _pipelines(frame: Frame) -> Iterator[Tree]:
    """The objects of the frame whose attributes are several models: placed together, or meant to be."""
    for name, value in list(frame.scope.locals.items()):
        if is_module(value) or is_tensor(value) or isinstance(value, (type, dict, list, tuple)):
            continue
        parts = {key: member for key, member in list(own_dict(value).items())[:64] if is_module(member)}
        roots = {id(unwrapped(member)[0]) for member in parts.values()}
        if len(roots) > 1 and any(members(part, "_parameters") or members(part, "_modules") for part in parts.values()):
            yield Tree(value, name, parts=parts)


def facts_of(core: Any, tree: Tree) -> Any:
    """Returns the core's Model of ``tree``."""
    no_split = _names(tree, "_no_split_modules")
    skip_keys = _names(tree, "_skip_keys_device_placement")
    wrappers = list(tree.wrappers)
    if _is_lightning(tree.root) and "lightning" not in wrappers:
        wrappers.append("lightning")
    return core.Model(
        expression=tree.expression, type=type(tree.root).__name__, wrappers=wrappers,
        device_map=[core.MapEntry(key=key, device=device) for key, device in device_map_of(tree).items()],
        quantisation=_quantisation(tree), skip_keys=skip_keys, no_split=no_split,
        modules=[_module(core, path, module, no_split) for path, module in tree.modules.items()],
    )  # fmt: skip


def device_map_of(tree: Tree) -> dict[str, str]:
    """Returns the entries of every ``hf_device_map`` in the tree, with paths from its root."""
    found: dict[str, str] = {}
    for path, module in tree.modules.items():
        entries = own_dict(module).get("hf_device_map")
        if not is_a(entries, dict):
            continue
        for key, device in cast(dict[object, object], entries).items():
            full = ".".join(part for part in (path, str(key)) if part)
            found.setdefault(full, f"cuda:{device}" if type(device) is int else str(device))
    return found


def _module(core: Any, path: str, module: Any, no_split: list[str]) -> Any:
    kind = type(module)
    own = own_dict(module)
    fleeting = own.get("_non_persistent_buffers_set") or ()
    tensors = []
    for kept, is_buffer in (("_parameters", False), ("_buffers", True)):
        for name, tensor in members(module, kept).items():
            if is_tensor(tensor):
                made = _tensor(core, name, tensor)
                made.is_buffer, made.is_persistent = is_buffer, not (is_buffer and name in fleeting)
                tensors.append(made)
    return core.Module(
        path=path, type=kind.__name__, package=_package(kind), tensors=tensors, no_split=kind.__name__ in no_split,
        is_container=kind.__name__ in _CONTAINERS and kind.__module__.startswith("torch.nn"),
        hooks=list(_hooks(core, own.get("_hf_hook"))),
    )  # fmt: skip


def _tensor(core: Any, name: str, tensor: Any) -> Any:
    try:
        return core.ModuleTensor(
            name=name, device=str(tensor.device), dtype=dtype_name(str(tensor.dtype)),
            bytes=tensor.numel() * tensor.element_size(),
        )  # fmt: skip
    except Exception:  # a subclass that will not say
        return core.ModuleTensor(name=name)


def _hooks(core: Any, hook: Any) -> Iterator[Any]:
    """Yields what accelerate, or diffusers on top of it, hung onto a module."""
    if hook is None:
        return
    own = own_dict(hook)
    for inner in own.get("hooks") or ():  # SequentialHook
        yield from _hooks(core, inner)
    if "hooks" in own:
        return
    device = own.get("execution_device")
    skip = own.get("skip_keys")
    yield core.Hook(
        type=type(hook).__name__, owner=core.Owner(name="accelerate", mechanism=type(hook).__name__),
        execution_device=f"cuda:{device}" if type(device) is int else str(device) if device is not None else "",
        offload=bool(own.get("offload", False)), io_same_device=bool(own.get("io_same_device", False)),
        skip_keys=[skip] if isinstance(skip, str) else [str(key) for key in skip or ()],
    )  # fmt: skip


def _names(tree: Tree, attribute: str) -> list[str]:
    """A list of names that a class of the model declares; the first class that does."""
    found: list[str] = []
    for module in list(tree.modules.values())[:4096]:
        value = own_dict(module).get(attribute)
        for base in type(module).__mro__ if value is None else ():
            value = base.__dict__.get(attribute)
            if value is not None:
                break
        if isinstance(value, str):
            value = [value]
        if isinstance(value, (list, tuple, set, frozenset)):
            found.extend(str(name) for name in value if str(name) not in found)
    return found


def _quantisation(tree: Tree) -> str:
    for module in tree.modules.values():
        name, package = type(module).__name__, _package(type(module))
        if name == "Linear8bitLt":
            return "bitsandbytes 8-bit"
        if name in ("Linear4bit", "LinearNF4", "LinearFP4"):
            return "bitsandbytes 4-bit"
        if package in ("awq", "auto_gptq", "gptqmodel", "hqq", "quanto", "eetq", "aqlm"):
            return package
    return ""


def _is_lightning(module: Any) -> bool:
    return any(base.__name__ == "LightningModule" for base in type(module).__mro__)


def _package(kind: type) -> str:
    import sys

    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return package_of(file) if isinstance(file, str) else ""
