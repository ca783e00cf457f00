"""Where the program keeps a tensor: in a module, registered or not, an optimizer, generation state, a global."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.probe.frames import Frame, Whose
from devsan.probe.models import Tree, members
from devsan.probe.tensors import is_module, is_tensor
from devsan.probe.values import dict_in, is_a, own_dict

_DEEP = 4  # steps from a module into plain objects
_MANY = 64  # elements of one container
_BUDGET = 50_000  # objects of one model

_OWN = frozenset({"_parameters", "_buffers", "_modules", "_hf_hook", "_trainer", "trainer"})  # not to be searched

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type)

PARAMETER, BUFFER, ATTRIBUTE = "PARAMETER", "BUFFER", "ATTRIBUTE"


@dataclass(frozen=True)
class Home:
    """Where a tensor is kept.

    Attributes:
        kind: PARAMETER, BUFFER or ATTRIBUTE.
        tree: the number of the model.
        holder: path of the module that holds it.
        name: within that module.
        registered: whether the module registers it, and its model the module.
    """

    kind: str
    tree: int
    holder: str
    name: str
    registered: bool = True

    @property
    def path(self) -> str:
        """The path in the model."""
        return f"{self.holder}.{self.name}" if self.holder else self.name


class Registry:
    """Finds tensors in the models, by identity or by memory. What is not registered is searched when asked for."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.trees = _not_held(list(trees))
        self._homes: dict[object, Home] = {}
        self._loose: dict[object, Home] | None = None
        for number, tree in enumerate(self.trees):
            for path, name, tensor, is_buffer in tree.tensors():
                _add(self._homes, tensor, Home(BUFFER if is_buffer else PARAMETER, number, path, name))

    def home_of(self, tensor: Any) -> Home | None:
        """Returns where ``tensor``, or one that it is a view of, is kept; None when no model keeps it."""
        found = _find(self._homes, tensor)
        if found is None:
            if self._loose is None:
                self._loose = dict(self._search())
            found = _find(self._loose, tensor)
        return found

    def path_of(self, module: Any) -> tuple[int, str] | None:
        """Returns model and path of a module, None when it is in none."""
        for number, tree in enumerate(self.trees):
            path = tree.paths.get(id(module))
            if path is not None:
                return number, path
        return None

    def _search(self) -> Iterator[tuple[object, Home]]:
        for number, tree in enumerate(self.trees):
            found: dict[object, Home] = {}
            left = [_BUDGET]
            seen: set[int] = set(tree.paths)
            for path, module in tree.modules.items():
                for name, value in list(own_dict(module).items()):
                    if name not in _OWN:
                        self._into(value, Home(ATTRIBUTE, number, path, name, True), found, seen, left, _DEEP)
            yield from found.items()

    def _into(
        self, value: Any, home: Home, found: dict[object, Home], seen: set[int], left: list[int], deep: int
    ) -> None:
        left[0] -= 1
        if is_tensor(value):
            _add(found, value, home)
            return
        if deep == 0 or left[0] < 0 or id(value) in seen or isinstance(value, (str, bytes, int, float, type)):
            return
        seen.add(id(value))
        if is_module(value):
            self._unregistered(value, home, found)
            return
        for step, held in _parts(value):
            inner = Home(home.kind, home.tree, home.holder, home.name + step, home.registered)
            self._into(held, inner, found, seen, left, deep - 1)

    def _unregistered(self, module: Any, home: Home, found: dict[object, Home]) -> None:
        tree = Tree(module, "")
        for path, name, tensor, is_buffer in tree.tensors():
            full = ".".join(part for part in (home.name, path, name) if part)
            _add(found, tensor, Home(BUFFER if is_buffer else PARAMETER, home.tree, home.holder, full, False))


def _not_held(trees: list[Tree]) -> list[Tree]:
    """The trees whose root no other one holds in an attribute that is not registered: a list of modules."""
    roots = {id(tree.root) for tree in trees}
    held: set[int] = set()
    for tree in trees if len(trees) > 1 else ():
        for module in list(tree.modules.values())[:512]:
            for name, value in list(own_dict(module).items()):
                if name not in _OWN:
                    held |= {number for number in _modules_in(value, 2) if number in roots and number != id(tree.root)}
    return [tree for tree in trees if id(tree.root) not in held]


def _modules_in(value: Any, deep: int) -> Iterator[int]:
    if is_module(value):
        yield id(value)
    elif deep and is_a(value, dict, list, tuple):
        for _, held in _parts(value):
            yield from _modules_in(held, deep - 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if is_a(value, dict):
        yield from ((f"[{key!r}]" if isinstance(key, (str, int)) else "[...]", held)
                    for key, held in list(dict.items(value))[:_MANY])  # fmt: skip
    elif is_a(value, list, tuple):
        elements = list.__iter__(value) if is_a(value, list) else tuple.__iter__(value)
        yield from ((f"[{index}]", held) for index, held in zip(range(_MANY), elements, strict=False))
    elif not isinstance(value, _FUNCTIONS):
        yield from ((f".{name}", held) for name, held in list(own_dict(value).items())[:_MANY])


def holds(value: Any, tensor: Any, deep: int = 3) -> bool:
    """Returns whether ``value`` is ``tensor``, or a container or an object that holds it within ``deep`` steps."""
    if is_tensor(value):
        return value is tensor or _key(value) == _key(tensor) is not None
    if deep == 0 or is_module(value) or isinstance(value, (str, bytes, int, float, type)):
        return False
    return any(holds(held, tensor, deep - 1) for _, held in _parts(value))


def caches_in(frames: Sequence[Frame]) -> Iterator[Any]:
    """Yields the objects that hold generation state, by the names of their classes or variables."""
    for frame in frames:
        for name, value in list(frame.scope.locals.items()):
            if "Cache" in type(value).__name__ or name in ("past_key_values", "past_key_value", "layer_past"):
                yield value


def is_average(frames: Sequence[Frame], tensor: Any) -> bool:
    """Returns whether an average of weights (EMA, SWA) in the variables of ``frames`` keeps ``tensor``."""
    for frame in frames:
        holder = frame.scope.locals.get("self")
        name = type(holder).__name__.lower()
        if any(word in name for word in ("ema", "averag", "polyak", "swa")) and not name.startswith("sema"):
            kept = [*own_dict(holder).values(), *members(holder, "_modules").values()]
            for held in kept:
                if is_module(held) and any(holds(each, tensor) for _, _, each, _ in Tree(held, "").tensors()):
                    return True
                if holds(held, tensor):
                    return True
    return False


def is_constant_name(name: str) -> bool:
    """Returns whether a global of a script is named as what stays: ``MEAN``, ``_cache``."""
    return name.isupper() or name.startswith("_")


def in_global(frames: Sequence[Frame], tensor: Any) -> bool:
    """Returns whether a container among the globals of a file, or of a class, in ``frames`` holds ``tensor``."""
    seen: set[int] = set()
    running = {frame.file for frame in frames if frame.code.co_name == "<module>"}
    for frame in frames:
        if frame.whose is Whose.HIDDEN or id(frame.scope.globals) in seen:
            continue
        seen.add(id(frame.scope.globals))
        for name, value in list(frame.scope.globals.items()):
            if name.startswith("__") or type(value) not in (dict, list):
                continue
            if frame.file in running and not is_constant_name(name):  # a variable of the script itself
                continue
            if holds(value, tensor, 2):
                return True
    return False


def optimizer_state(optimizers: Sequence[Any], tensor: Any) -> str | None:
    """Returns the key under which an optimizer keeps ``tensor`` for a parameter, None when none does."""
    for optimizer in optimizers:
        for kept in list(dict.values(dict_in(optimizer, "state"))):
            for key, value in list(dict.items(kept)) if is_a(kept, dict) else ():
                if value is tensor:
                    return str(key)
    return None


def parameters_of(optimizer: Any) -> Iterator[Any]:
    """Yields the parameters that an optimizer steps."""
    groups: Any = own_dict(optimizer).get("param_groups")
    for group in list.__iter__(groups) if is_a(groups, list) else ():
        kept: Any = dict.get(group, "params") if is_a(group, dict) else None
        yield from list.__iter__(kept) if is_a(kept, list) else ()


def _key(tensor: Any) -> tuple[int, int] | None:
    try:
        return tensor.untyped_storage()._cdata, tensor.storage_offset()
    except Exception:
        return None


def _add(homes: dict[object, Home], tensor: Any, home: Home) -> None:
    homes.setdefault(id(tensor), home)
    key = _key(tensor)
    if key is not None:
        homes.setdefault(key, home)


def _find(homes: dict[object, Home], tensor: Any) -> Home | None:
    found = homes.get(id(tensor))
    if found is None and (key := _key(tensor)) is not None:
        found = homes.get(key)
    return found
