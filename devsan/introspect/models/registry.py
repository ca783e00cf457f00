"""Where the program keeps a tensor: in a module, registered or not, an optimizer, generation state, a global."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.models.alike import alike_names
from devsan.introspect.models.functions import KEEPING, kept_by
from devsan.introspect.models.models import Tree
from devsan.introspect.models.referrers import key_of, parts

_DEEP = 4  # steps from a module into plain objects
_BUDGET = 50_000  # objects of one model

_OWN = frozenset({"_parameters", "_buffers", "_modules", "_hf_hook", "_trainer", "trainer",
                  "_non_persistent_buffers_set", "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook",
                  "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
                  "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
                  "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"})  # fmt: skip
_PLAIN = frozenset({int, float, bool, str, bytes, complex, type(None)})

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
        self._in_memory: dict[int, Any] = {}  # what is kept loosely, by its memory
        for tensor, home in self._registered():
            _add(self._homes, tensor, home)

    def home_of(self, tensor: Any) -> Home | None:
        """Returns where ``tensor``, or one that it is a view of, is kept; None when no model keeps it."""
        found = _find(self._homes, tensor)
        return found if found is not None else _find(self._search_once(), tensor)

    @functools.cached_property
    def alike(self) -> list[dict[str, str]]:
        """The names of the modules of each model, as ``alike_names`` has them."""
        return [alike_names(tree) for tree in self.trees]

    def tied_to(self, home: Home) -> str:
        """Returns another path at which a model keeps the tensor of ``home``; "" where it has one alone."""
        registered = list(self.trees[home.tree].tensors())
        own = next((each for path, name, each, _ in registered if (path, name) == (home.holder, home.name)), None)
        again = ((path, name) for path, name, each, _ in registered if each is own)
        return next((f"{path}.{name}" for path, name in again if path != home.holder), "")

    def home_in(self, number: int, home: Home) -> Home | None:
        """Returns where the model ``number`` registers the tensor of ``home``, which is another model's; or None."""
        return next((each for each in self.homes_of(home) if each.tree == number), None)

    def homes_of(self, home: Home) -> Sequence[Home]:
        """Returns all places at which models register the tensor of ``home``, or one with its memory."""
        return self._of_one_memory.get(home, ())

    @functools.cached_property
    def _of_one_memory(self) -> dict[Home, list[Home]]:
        found: dict[object, list[Home]] = {}
        for tensor, home in self._registered():
            if (key := key_of(tensor)) is not None:
                found.setdefault(key, []).append(home)
        return {home: homes for homes in found.values() for home in homes}

    def _registered(self) -> Iterator[tuple[Any, Home]]:
        for number, tree in enumerate(self.trees):
            for path, name, tensor, is_buffer in tree.tensors():
                yield tensor, Home(BUFFER if is_buffer else PARAMETER, number, path, name)

    def kept_in(self, storage: int) -> Any:
        """Returns what a model keeps, registered or not, in the memory ``storage``; None if there is nothing.

        Args:
            storage: as ``memory_of`` has it.
        """
        for tree in self.trees:
            for _, _, tensor, _ in tree.tensors():
                if memory_of(tensor) == storage:
                    return tensor
        self._search_once()
        return self._in_memory.get(storage)

    def path_of(self, module: Any) -> tuple[int, str] | None:
        """Returns model and path of a module, None when it is in none."""
        for number, tree in enumerate(self.trees):
            path = tree.paths.get(id(module))
            if path is not None:
                return number, path
        return None

    def _search_once(self) -> dict[object, Home]:
        if self._loose is None:
            self._loose = dict(self._search())
        return self._loose

    def _search(self) -> Iterator[tuple[object, Home]]:
        for number, tree in enumerate(self.trees):
            found: dict[object, Home] = {}
            left = [_BUDGET]
            seen: set[int] = set(tree.paths)
            for path, module in tree.modules.items():
                for name, value in list(own_dict(module).items()):
                    if type(value) not in _PLAIN and name not in _OWN and not _is_put_over(name, value, module):
                        self._into(value, Home(ATTRIBUTE, number, path, name, True), "", found, seen, left, _DEEP)
            yield from found.items()

    def _into(
        self, value: Any, home: Home, steps: str, found: dict[object, Home], seen: set[int], left: list[int], deep: int
    ) -> None:
        left[0] -= 1
        if is_tensor(value):
            _add(found, value, _within(home, steps))
            if (memory := memory_of(value)) is not None:
                self._in_memory.setdefault(memory, value)
            return
        if deep == 0 or left[0] < 0 or id(value) in seen or isinstance(value, type):
            return
        seen.add(id(value))
        if is_module(value):
            self._unregistered(value, _within(home, steps), found)
            return
        by_function = ((f"({step[1:]})" if step else "", held) for step, held in kept_by(value))
        for step, held in by_function if isinstance(value, KEEPING) else parts(value):
            if type(held) not in _PLAIN:
                self._into(held, home, steps + step, found, seen, left, deep - 1)

    def _unregistered(self, module: Any, home: Home, found: dict[object, Home]) -> None:
        tree = Tree(module, "")
        for path, name, tensor, is_buffer in tree.tensors():
            full = ".".join(part for part in (home.name, path, name) if part)
            _add(found, tensor, Home(BUFFER if is_buffer else PARAMETER, home.tree, home.holder, full, False))


def _is_put_over(name: str, value: Any, module: Any) -> bool:
    """Whether a function stands in the place of a method, as hooks of accelerate do, or is one that was put aside:
    what it captured is of a call, or of who put it there."""
    return isinstance(value, KEEPING) and (name.endswith("forward") or hasattr(type(module), name))


def _within(home: Home, steps: str) -> Home:
    return Home(home.kind, home.tree, home.holder, home.name + steps, home.registered) if steps else home


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
        for _, held in parts(value):
            yield from _modules_in(held, deep - 1)


def copy_of_weight(registry: Registry, tensor: Any, others: Sequence[Any]) -> bool:
    """Returns whether ``tensor`` is a parameter that another model has as well, at the same path, among ``others``."""
    home = registry.home_of(tensor)
    if home is None or home.kind != PARAMETER:
        return False
    for other in others:
        its = registry.home_of(other) if is_tensor(other) else None
        if its is not None and its.tree != home.tree and its.path == home.path and its.kind == PARAMETER:
            return True
    return False


def _add(homes: dict[object, Home], tensor: Any, home: Home) -> None:
    homes.setdefault(id(tensor), home)
    key = key_of(tensor)
    if key is not None:
        homes.setdefault(key, home)


def _find(homes: dict[object, Home], tensor: Any) -> Home | None:
    found = homes.get(id(tensor))
    if found is None and (key := key_of(tensor)) is not None:
        found = homes.get(key)
    return found
