"""Who else keeps tensors: containers, caches, globals, optimizers."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from devsan.diagnostics.codes import words_of
from devsan.installed import class_file
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of
from devsan.introspect.frames.values import dict_in, is_a, own_dict
from devsan.introspect.models.memos import is_memo

MANY = 64
"""Elements of one container that are looked at."""

_OF_CACHES = frozenset({"reorder_cache", "_reorder_cache", "_update_cache", "batch_select_indices",
                        "batch_repeat_interleave"})  # fmt: skip
_GENERATES = re.compile(r"generate|decode|sampl|rollout|beam|greedy", re.IGNORECASE)  # functions that go token by token
_HOLDERS = frozenset(words_of("kv-cache")["holders"])
_STATE_NAME = re.compile(r"(?:^|_)(?:states?|hiddens?|cache|past|memory|kv)(?:$|_)")
# Not to be searched: what torch.nn.Module itself keeps (torch/nn/modules/module.py), and what hangs onto modules.
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type)


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what a container or a plain object holds, each with how it is reached: ``[0]``, ``.name``."""
    if is_a(value, dict):
        yield from ((f"[{key!r}]" if isinstance(key, (str, int)) else "[...]", held)
                    for key, held in list(dict.items(value))[:MANY])  # fmt: skip
    elif is_a(value, list, tuple):
        elements = list.__iter__(value) if is_a(value, list) else tuple.__iter__(value)
        yield from ((f"[{index}]", held) for index, held in zip(range(MANY), elements, strict=False))
    elif not isinstance(value, _FUNCTIONS):
        yield from ((f".{name}", held) for name, held in list(own_dict(value).items())[:MANY])


def holds(value: Any, tensor: Any, deep: int = 3) -> bool:
    """Returns whether ``value`` is ``tensor``, or a container or an object that holds it within ``deep`` steps."""
    if is_tensor(value):
        return value is tensor or key_of(value) == key_of(tensor) is not None
    if deep == 0 or is_module(value) or isinstance(value, (str, bytes, int, float, type)):
        return False
    return any(holds(held, tensor, deep - 1) for _, held in parts(value))


def keeps_memory_of(value: Any, tensor: Any, deep: int = 3) -> bool:
    """As ``holds``, and where ``tensor`` is a part of what is held: the first keys of one long allocation."""
    if is_tensor(value):
        return value is tensor or memory_of(value) == memory_of(tensor) is not None
    if deep == 0 or is_module(value) or isinstance(value, (str, bytes, int, float, type)):
        return False
    return any(keeps_memory_of(held, tensor, deep - 1) for _, held in parts(value))


def tensors_of(value: Any, deep: int = 2) -> Iterator[Any]:
    """Yields the tensors that ``value`` is, or holds within ``deep`` steps."""
    if is_tensor(value):
        yield value
    elif deep and not is_module(value) and not isinstance(value, (str, bytes, int, float, type)):
        for _, held in parts(value):
            yield from tensors_of(held, deep - 1)


def tensors_within(value: Any, path: str, deep: int, left: list[int]) -> Iterator[tuple[str, Any]]:
    """Yields the tensors that ``value`` holds within ``deep`` steps, each with how it is reached behind ``path``.

    Args:
        value: a container or a plain object.
        path: how it is reached itself.
        deep: steps into it.
        left: how many tensors and containers may still be looked at; is counted down.
    """
    for step, held in parts(value):
        left[0] -= 1
        if left[0] < 0:
            return
        if is_tensor(held):
            yield path + step, held
        elif deep > 1 and not is_module(held) and not isinstance(held, (str, bytes, int, float, type)):
            yield from tensors_within(held, path + step, deep - 1, left)


def caches_in(frames: Sequence[Frame]) -> Iterator[Any]:
    """Yields the objects that hold generation state, by the names of their classes or variables."""
    for frame in frames:
        for name, value in list(frame.scope.locals.items()):
            called = _GENERATES.search(frame.function) is not None and _STATE_NAME.search(name) is not None
            known = name in _HOLDERS or ("Cache" in type(value).__name__ and not _is_of_another_kind(value))
            if known or (called and type(value) in (list, tuple, dict)):
                yield value
        if frame.code.co_name in _OF_CACHES:
            yield frame.scope.locals.get("self")


def _is_of_another_kind(value: Any) -> bool:
    """Whether what is called a cache remembers by a key, or keeps activations by the paths of their modules."""
    kind: Any = type(value)
    if is_memo(kind):
        return True
    kept = [held for _, held in parts(value) if is_a(held, dict)]
    keys = [list(dict.__iter__(held))[:MANY] for held in kept]
    return any(each and all(isinstance(key, str) and "." in key for key in each) for each in keys)


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


def in_class(kinds: Iterable[type], tensor: Any) -> str:
    """Returns what ``tensor``, or what it is a part of, is called as an attribute of one of the classes, which keeps it
    for all of its instances: ``Norm.mean``, ``Rope.tables[16]``; "" where none does."""
    for kind in kinds:
        for name, value in list(type.__dict__["__dict__"].__get__(kind).items()):
            if (is_tensor(value) or type(value) in (dict, list, tuple)) and keeps_memory_of(value, tensor, 2):
                steps = () if is_tensor(value) else parts(value)
                step = next((each for each, held in steps if keeps_memory_of(held, tensor, 1)), "")
                return f"{type.__dict__['__name__'].__get__(kind)}.{name}{step}"
    return ""


def classes_of(frames: Sequence[Frame]) -> list[type]:
    """Returns the program's classes whose methods run, and the others of their files: a cached tensor is used where it
    was handed to."""
    found: dict[type, None] = {}
    for frame in frames:
        if frame.whose is Whose.HIDDEN:
            continue
        names = frame.code.co_varnames[:1]
        first = frame.scope.locals.get(names[0]) if names and names[0] in ("self", "cls") else None
        kinds = [] if first is None else [first if isinstance(first, type) else type(first)]
        file = frame.scope.globals.get("__name__")
        kinds += [each for each in list(frame.scope.globals.values())
                  if isinstance(each, type) and type.__dict__["__module__"].__get__(each) == file]  # fmt: skip
        for kind in kinds:
            for base in type.__dict__["__mro__"].__get__(kind):
                if base not in found and package_of(class_file(base)) != "torch":
                    found[base] = None
    return list(found)


def optimizer_state(optimizers: Sequence[Any], tensor: Any) -> str | None:
    """Returns the key under which an optimizer keeps ``tensor`` for a parameter, None when none does."""
    for optimizer in optimizers:
        for kept in list(dict.values(dict_in(optimizer, "state"))):
            for key, value in list(dict.items(kept)) if is_a(kept, dict) else ():
                if value is tensor:
                    return str(key)
        for group in groups_of(optimizer):  # state that stands for a whole group
            for key, value in list(dict.items(group)):
                if key != "params" and (value is tensor or (is_a(value, list) and holds(value, tensor, 1))):
                    return str(key)
    return None


def parameters_of(optimizer: Any) -> Iterator[Any]:
    """Yields the parameters that an optimizer steps."""
    for group in groups_of(optimizer):
        kept: Any = dict.get(group, "params")
        yield from list.__iter__(kept) if is_a(kept, list) else ()


def groups_of(optimizer: Any) -> Iterator[Any]:
    """Yields an optimizer's groups of parameters."""
    groups: Any = own_dict(optimizer).get("param_groups")
    yield from (group for group in (list.__iter__(groups) if is_a(groups, list) else ()) if is_a(group, dict))


def key_of(tensor: Any) -> tuple[int, int] | None:
    """Returns what stands for the memory of ``tensor``; None when it has none of its own."""
    try:
        return tensor.untyped_storage()._cdata, tensor.storage_offset()
    except Exception:
        return None
