"""The training modes that a module's call depends on.

NOTE [Modes that are read] A change that calls ``eval`` in place of a repair may leave all numbers as they are, where
nothing is drawn, so that modes are compared beside the numbers. But a mode that no code reads says nothing: an
embedding that a frozen model shares with one that trains is switched with either of them, and with a copy, which is the
repair, it is not. So the modes are those of the modules whose own class reads ``training`` in one of its methods, as
dropout, batch norms, and the layers of transformers do. A module that has its mode from the one that it wraps, as what
``torch.compile`` returns has, reads none of its own: it is not there where the program is run as it is written.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_ATTRIBUTE = "training"


def training_modes(module: Any) -> list[bool]:
    """Returns the modes that ``module`` and the modules in it read, each once."""
    found = set()
    for each in module.modules():
        kind: Any = type(each)
        if _reads_mode(kind):
            found.add(each.training)
    return sorted(found)


@functools.lru_cache(maxsize=1024)
def _reads_mode(kind: type) -> bool:
    import torch

    if issubclass(kind, torch.jit.ScriptModule):  # its code is not Python's
        return True
    if isinstance(inspect.getattr_static(kind, _ATTRIBUTE, None), property):
        return False
    own = (each for each in kind.__mro__ if each not in torch.nn.Module.__mro__)
    return any(_ATTRIBUTE in code.co_names for each in own for code in _codes(each))


def _codes(kind: type) -> Iterator[CodeType]:
    """The code of the methods of one class, and of the functions in them. Of anything else in it nothing is asked: an
    object of the program's may answer each name, or raise."""
    for value in vars(kind).values():
        function: Any = value.fget if type(value) is property else value
        function = function.__func__ if type(function) in (staticmethod, classmethod) else function
        while isinstance(function, FunctionType) and "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        waiting = [function.__code__] if isinstance(function, FunctionType) else []
        while waiting:
            found = waiting.pop()
            yield found
            waiting += [each for each in found.co_consts if isinstance(each, CodeType)]
