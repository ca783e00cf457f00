"""What is checked: models that belong together, the optimizers that step them, and the lines of the program."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from devsan.doctor.live.hooks import Hook, hooks_of
from devsan.doctor.live.lines import Lines
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.models.models import Tree, unwrapped
from devsan.introspect.models.referrers import parts

_DEEP = 3  # containers and objects within one another that are looked into


@dataclass(frozen=True)
class Held:
    """A parameter or buffer of a module.

    Attributes:
        path: of the module.
        name: within it.
        tensor: itself.
        is_buffer: whether it is a buffer.
    """

    path: str
    name: str
    tensor: Any
    is_buffer: bool

    @property
    def full(self) -> str:
        """The path in the model."""
        return f"{self.path}.{self.name}" if self.path else self.name

    @property
    def device(self) -> str:
        """Where it is; "" where it will not say."""
        return device_of(self.tensor)


@dataclass
class Model:
    """One model.

    Attributes:
        tree: its modules, by path.
        hooks: the hooks of its modules, by path.
    """

    tree: Tree
    hooks: dict[str, list[Hook]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class of its root, as the program has it: fully_shard makes another one of it, called FSDP..."""
        kind = type(self.tree.root)
        sharded = any(base.__name__ == "FSDPModule" for base in kind.__bases__)
        return kind.__name__.removeprefix("FSDP") if sharded else kind.__name__

    @cached_property
    def tensors(self) -> list[Held]:
        """All that is registered."""
        return [Held(*each) for each in self.tree.tensors()]

    @cached_property
    def of_module(self) -> dict[str, list[Held]]:
        """The same, by module."""
        found: dict[str, list[Held]] = {}
        for held in self.tensors:
            found.setdefault(held.path, []).append(held)
        return found

    @cached_property
    def gpus(self) -> list[str]:
        """The GPUs that it has tensors on, in order."""
        return sorted({held.device for held in self.tensors if is_gpu(held.device)})

    def above(self, path: str) -> Iterator[str]:
        """Yields the paths of the modules around the one at ``path``, the nearest first."""
        while path:
            path = path.rpartition(".")[0]
            yield path

    def around(self, path: str) -> frozenset[int]:
        """Returns the ids of the module at ``path`` and of those around it."""
        kept = self.tree.modules
        return frozenset(id(kept[each]) for each in (path, *self.above(path)) if each in kept)

    def placing(self, path: str) -> Hook | None:
        """Returns the hook that places the tensors of the module at ``path``: its own, or one above that does so for
        all below it (AlignDevicesHook.place_submodules)."""
        return self.placed_at(path)[1]

    def placed_at(self, path: str) -> tuple[str, Hook | None]:
        """As ``placing``, with the path of the module that the hook is on."""
        for each in (path, *self.above(path)):
            for hook in self.hooks.get(each, ()):
                if hook.places and (hook.with_children or each == path):
                    return each, hook
        return path, None

    def sharded_by(self) -> str:
        """Returns who keeps the parameters in parts of its own, "" for nobody: FSDP, DeepSpeed."""
        for held in self.tensors:
            if type(held.tensor).__name__ == "DTensor" or is_flat(held.tensor):
                return "FSDP"
            if "ds_id" in own_dict(held.tensor):
                return "deepspeed"
        for wrapper in self.tree.wrappers:
            if wrapper in ("FSDP", "deepspeed"):
                return wrapper
        names = {type(module).__name__ for module in self.tree.modules.values()}
        return "FSDP" if "FullyShardedDataParallel" in names else ""


@dataclass
class Subject:
    """What is checked together.

    Attributes:
        models: the models.
        optimizers: living ones, torch's own under whatever wraps them.
        lines: which line of the program did what.
        elsewhere: further optimizers, which are not checked, but may step the models' parameters.
        stepping: the optimizer whose step is about to begin, if one is: its gradients have been computed.
    """

    models: list[Model]
    optimizers: list[Any]
    lines: Lines
    elsewhere: list[Any] = field(default_factory=list)
    stepping: Any = None

    @property
    def trees(self) -> list[Tree]:
        """The models' trees."""
        return [model.tree for model in self.models]


def subject_of(given: Sequence[object], lines: Lines) -> Subject:
    """Returns what is to be checked of ``given``: models, optimizers, and what holds them."""
    modules: dict[int, Any] = {}
    optimizers: dict[int, Any] = {}
    for each in given:
        _collect(each, modules, optimizers, _DEEP)
    trees: dict[int, Tree] = {}
    for module in modules.values():
        root, wrappers = unwrapped(module)
        before = trees.get(id(root))
        if before is None or len(wrappers) > len(before.wrappers):
            trees[id(root)] = Tree(root, "", wrappers)
    inside = {number for tree in trees.values() for number, path in tree.paths.items() if path}
    kept = [tree for number, tree in trees.items() if number not in inside]
    return subject_with(kept, list(optimizers.values()), lines)


def subject_with(trees: Sequence[Tree], optimizers: Sequence[Any], lines: Lines) -> Subject:
    """Returns the subject of models that were found already."""
    return Subject([Model(tree, hooks_of(tree, lines)) for tree in trees], list(optimizers), lines)


def _collect(value: object, modules: dict[int, Any], optimizers: dict[int, Any], deep: int) -> None:
    torch: Any = sys.modules.get("torch.optim")
    if value is None or torch is None or is_tensor(value) or isinstance(value, (str, bytes, int, float, type)):
        return
    if is_module(value):
        modules.setdefault(id(value), value)
        inner = own_dict(value).get("optimizer")  # a DeepSpeedEngine is a module and keeps its optimizer
        if inner is not None and not is_module(inner):
            _collect(inner, modules, optimizers, 1)
    elif is_a(value, torch.Optimizer) and not is_a(own_dict(value).get("optimizer"), torch.Optimizer):
        optimizers.setdefault(id(value), value)
    elif deep:
        for _, held in parts(value):
            _collect(held, modules, optimizers, deep - 1)


def is_gpu(device: str) -> bool:
    """Returns whether ``device`` is a GPU's."""
    return device.startswith("cuda")


def device_of(tensor: Any) -> str:
    """Returns the device of a tensor; "" where it will not say."""
    try:
        return str(tensor.device)
    except Exception:  # a subclass that computes it
        return ""


def is_scalar_of_host(tensor: Any) -> bool:
    """Returns whether it is a 0-dim CPU tensor: it may meet those of a GPU."""
    try:
        return bool(tensor.device.type == "cpu" and tensor.dim() == 0)
    except Exception:
        return False


def is_flat(tensor: Any) -> bool:
    """Returns whether FullyShardedDataParallel made it of several (torch/distributed/fsdp/_flat_param.py)."""
    return bool(own_dict(tensor).get("_is_flat_param", False))
