"""The hooks that are on a model's modules: whose each is, where it brings inputs or weights, and who registered it.

accelerate keeps its hook in ``_hf_hook`` and puts another ``forward`` in front (accelerate/hooks.py,
add_hook_to_module); diffusers keeps a registry in ``_diffusers_hook`` (diffusers/hooks/hooks.py); torch's own hooks are
dictionaries of functions (torch/nn/modules/module.py), through which DeepSpeed, FSDP, DDP and programs work.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.live.movers import code_of, target_of
from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.values import is_a, own_dict

if TYPE_CHECKING:
    from devsan.doctor.live.lines import Lines
    from devsan.introspect.models.models import Tree

PROGRAM = message("this program")
_KEPT = ("_forward_pre_hooks", "_forward_hooks")
_SILENT = frozenset({"torch", "python", "devsan"})  # torch's own hooks on its own modules (weight_norm) place nothing


@dataclass(frozen=True)
class Hook:
    """One hook of one module.

    Attributes:
        owner: "accelerate", "deepspeed", "FSDP", a package, or "this program".
        type: its class, or the function's name.
        device: where it brings inputs; "" when it brings them nowhere, or nobody can say.
        places: whether it is what places the module's tensors: accelerate's, by a device map or an offload.
        offloads: whether it keeps the weights elsewhere between calls.
        with_children: whether it places the tensors of all modules below, too.
        place: where it is written or, better, where it was registered; None when not known.
    """

    owner: str
    type: str
    device: str = ""
    places: bool = False
    offloads: bool = False
    with_children: bool = False
    place: Place | None = None


def hooks_of(tree: Tree, lines: Lines) -> dict[str, list[Hook]]:
    """Returns the hooks of every module of ``tree`` that has some, by path."""
    found: dict[str, list[Hook]] = {}
    for path, module in tree.modules.items():
        own = own_dict(module)
        hooks = [*_of_accelerate(own.get("_hf_hook")), *_of_diffusers(own.get("_diffusers_hook"))]
        for kept in _KEPT:
            for function in _values(own.get(kept)):
                hooks.extend(_of_function(function, kept, lines))
        if hooks:
            found[path] = hooks
    return found


def _of_accelerate(hook: Any) -> Iterator[Hook]:
    if hook is None:
        return
    own = own_dict(hook)
    inner: Any = own.get("hooks")
    if is_a(inner, tuple, list):  # SequentialHook
        for each in inner:
            yield from _of_accelerate(each)
        return
    bases = {base.__name__ for base in type(hook).__mro__}
    moves = "execution_device" in own or "CpuOffload" in bases
    offloads = bool(own.get("offload", False)) or "CpuOffload" in bases
    device = own.get("execution_device")
    owner = "accelerate" if package_of(_file_of(type(hook))) == "accelerate" else PROGRAM
    yield Hook(
        owner, type(hook).__name__, _spelled(device), places=moves and (device is not None or offloads),
        offloads=offloads, with_children=bool(own.get("place_submodules", False)) or "CpuOffload" in bases,
    )  # fmt: skip


def _of_diffusers(registry: Any) -> Iterator[Hook]:
    for hook in _values(own_dict(registry).get("hooks")):
        own = own_dict(hook)
        device = own.get("onload_device")
        yield Hook("diffusers", type(hook).__name__, _spelled(device), device is not None, True, True)


def _of_function(function: Any, kept: str, lines: Lines) -> Iterator[Hook]:
    code = code_of(function)
    if code is None:
        return
    package = package_of(code.co_filename)
    name = getattr(function, "__name__", type(function).__name__)
    if package == "torch":
        if "distributed" in code.co_filename:
            yield Hook("FSDP" if "fsdp" in code.co_filename else "torch.distributed", "")
    elif package == "deepspeed":
        yield Hook(package, "")  # its engine hangs up several, all for the same
    elif package not in _SILENT:
        device = target_of(function) if kept == "_forward_pre_hooks" else ""
        place = lines.of_hook(function, code) if package == "" else None
        yield Hook(package or PROGRAM, str(name), device, place=place)


def _values(kept: Any) -> list[Any]:
    return list(dict.values(kept)) if is_a(kept, dict) else []


def _spelled(device: Any) -> str:
    if device is None:
        return ""
    return f"cuda:{device}" if type(device) is int else str(device)


def _file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) if isinstance(module, types.ModuleType) else None
    return file if isinstance(file, str) else ""
