"""Models that a program creates on a GPU, where nothing places them: in ``torch.device("cuda")``, by a default device.

A model is found when an optimizer takes its parameters, which a later placement would replace, or when it is called:
whichever comes first. By then it is complete; a part of it may be called while its constructor still runs.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from devsan.cuda.patches import Patches


class MadeOnGpu:
    """Remembers the modules that are created.

    Args:
        place: called with each model that is found, all of whose parameters are on a GPU.
    """

    def __init__(self, place: Callable[[Any], Any]) -> None:
        self._place = place
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._depth = 0  # of calls of modules

    def begin(self, patches: Patches) -> None:
        """Watches modules and optimizers as they are created, and the calls of modules."""
        import torch

        kind: Any = torch.nn.Module
        init, call, of_optimizer = kind.__init__, kind.__call__, torch.optim.Optimizer.__init__

        @functools.wraps(init)
        def made(module: Any, *args: Any, **named: Any) -> None:
            self._made.add(module)
            init(module, *args, **named)

        @functools.wraps(call)
        def called(module: Any, *args: Any, **named: Any) -> Any:
            if self._depth == 0 and module in self._made:
                self._find([module])
            self._depth += 1
            try:
                return call(module, *args, **named)
            finally:
                self._depth -= 1

        @functools.wraps(of_optimizer)
        def optimized(optimizer: Any, params: Any, *args: Any, **named: Any) -> None:
            if not isinstance(params, torch.Tensor):
                params = list(params)
                taken = _ids(params)
                self._find([each for each in list(self._made) if not taken.isdisjoint(map(id, _parameters(each)))])
            of_optimizer(optimizer, params, *args, **named)

        patches.set(kind, "__init__", made)
        patches.set(kind, "__call__", called)
        patches.set(torch.optim.Optimizer, "__init__", optimized)

    def _find(self, modules: list[Any]) -> None:
        parts = {id(child) for module in list(self._made) for child in _children(module)}
        for model in (each for each in modules if id(each) not in parts):
            self._made.discard(model)
            parameters = _parameters(model)
            if parameters and all(tensor.is_cuda for tensor in parameters):
                self._place(model)


def _children(module: Any) -> list[Any]:
    return list(module.children()) if "_modules" in vars(module) else []  # its constructor has not begun


def _parameters(module: Any) -> list[Any]:
    return list(module.parameters()) if "_modules" in vars(module) else []


def _ids(params: Iterable[Any]) -> set[int]:
    """The parameters that an optimizer is given: tensors, named ones, or groups of them."""
    found: set[int] = set()
    for each in params:
        of_group = each.get("params", ()) if isinstance(each, dict) else [each]
        for one in of_group if isinstance(of_group, (list, tuple)) else [of_group]:
            found.add(id(one[1] if isinstance(one, tuple) else one))
    return found
