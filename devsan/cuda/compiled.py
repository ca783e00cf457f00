"""Python functions in the place of compiled ones of ``torch._C``: what they take and raise is what those do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import torch

# What pybind11's list_caster (stl.h) takes beside sequences.
_ITERABLES: tuple[type, ...] = (
    GeneratorType,
    set,
    frozenset,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    map,
    zip,
)


def as_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hides ``__torch_function__`` from ``function``: compiled code sees the tensors behind Python's subclasses."""

    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **kwargs)

    return compiled


def expect(condition: bool, sentence: str, error: type[Exception] = RuntimeError) -> None:
    """Raises ``sentence`` unless ``condition`` holds, as TORCH_CHECK does."""
    if not condition:
        raise error(sentence)


def vector(given: Any, kind: type, function: str) -> list[Any]:
    """Returns the list that pybind11 makes of an argument of type ``std::vector``.

    Raises:
        TypeError: it makes none: of a string, a dict, an iterable of another type, or other elements than ``kind``.
    """
    is_sequence = hasattr(type(given), "__getitem__") and not isinstance(given, (str, bytes, dict))
    elements = list(given) if is_sequence or isinstance(given, _ITERABLES) else [None]
    if not all(isinstance(element, kind) for element in elements):
        raise TypeError(f"{function}(): incompatible function arguments, expected a sequence of {kind.__name__}")
    return elements
