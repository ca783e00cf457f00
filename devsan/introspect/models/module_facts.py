"""A model as the core's facts: its modules with their tensors and hooks, its device map, wrappers and quantization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from devsan import core
from devsan.installed import class_file
from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.tensors import dtype_name
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.models.models import Tree, registered

_CONTAINERS = frozenset({"ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict"})


def facts_of(tree: Tree) -> core.Model:
    """Returns the core's Model of ``tree``."""
    no_split = _names(tree, "_no_split_modules")
    skip_keys = _names(tree, "_skip_keys_device_placement")
    wrappers = list(tree.wrappers)
    if _is_lightning(tree.root) and "lightning" not in wrappers:
        wrappers.append("lightning")
    return core.Model(
        expression=tree.expression, type=type(tree.root).__name__, wrappers=wrappers,
        is_object=bool(tree.parts),
        device_map=[core.MapEntry(key=key, device=device) for key, device in device_map_of(tree).items()],
        mapped=list(_maps(tree)),
        quantization=_quantization(tree), skip_keys=skip_keys, no_split=no_split,
        modules=[_module(path, module, no_split) for path, module in tree.modules.items()],
    )  # fmt: skip


def device_map_of(tree: Tree) -> dict[str, str]:
    """Returns the entries of every ``hf_device_map`` in the tree, with paths from its root."""
    found: dict[str, str] = {}
    for path, entries in _maps(tree).items():
        for key, device in entries.items():
            full = ".".join(part for part in (path, str(key)) if part)
            found.setdefault(full, f"cuda:{device}" if type(device) is int else str(device))
    return found


def _maps(tree: Tree) -> dict[str, dict[object, object]]:
    """Returns each ``hf_device_map`` in the tree, by the path of its module."""
    found = {path: own_dict(module).get("hf_device_map") for path, module in tree.modules.items()}
    return {path: cast(dict[object, object], entries) for path, entries in found.items() if is_a(entries, dict)}


def _module(path: str, module: Any, no_split: list[str]) -> core.Module:
    kind = type(module)
    own = own_dict(module)
    fleeting = own.get("_non_persistent_buffers_set") or ()
    tensors = []
    for name, tensor, is_buffer in registered(module):
        made = _tensor(name, tensor)
        made.is_buffer, made.is_persistent = is_buffer, not (is_buffer and name in fleeting)
        tensors.append(made)
    return core.Module(
        path=path, type=kind.__name__, package=_package(kind), tensors=tensors, no_split=kind.__name__ in no_split,
        is_container=kind.__name__ in _CONTAINERS and kind.__module__.startswith("torch.nn"),
        hooks=list(_hooks(own.get("_hf_hook"))),
    )  # fmt: skip


def _tensor(name: str, tensor: Any) -> core.ModuleTensor:
    try:
        return core.ModuleTensor(
            name=name, device=str(tensor.device), dtype=dtype_name(str(tensor.dtype)),
            bytes=tensor.numel() * tensor.element_size(),
        )  # fmt: skip
    except Exception:  # a subclass that will not say
        return core.ModuleTensor(name=name)


def _hooks(hook: Any) -> Iterator[core.Hook]:
    """Yields what accelerate, or diffusers on top of it, hung onto a module."""
    if hook is None:
        return
    own = own_dict(hook)
    for inner in own.get("hooks") or ():  # SequentialHook
        yield from _hooks(inner)
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


def offload_of(tree: Tree, path: str) -> Iterator[core.Event]:
    """Yields the event by which a hook keeps the data of the module at ``path`` elsewhere: its tensors are on meta."""
    hook = own_dict(tree.modules.get(path)).get("_hf_hook")
    for each in _hooks(hook):
        if each.offload:
            yield core.Event(
                kind=core.EventKind.MOVED, device="meta", op=each.type,
                owner=core.Owner(name=each.owner.name, mechanism=each.type, setting="device_map"),
            )  # fmt: skip
            return


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


def _quantization(tree: Tree) -> str:
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
    file = class_file(kind)
    return package_of(file) if file else ""
