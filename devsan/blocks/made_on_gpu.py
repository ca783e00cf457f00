"""Models that a program makes on a GPU, where nothing places them: under ``torch.device("cuda")``, by a default device.

They are found when an optimizer takes their parameters, which would be others after a later placing, or when one of
them is called: whichever comes first.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from devsan.cuda.patches import Patches


class MadeOnGpu:
    """Remembers the modules that are made.

    Args:
        place: called with each model on a GPU that nothing has placed.
    """

    def __init__(self, place: Callable[[Any], Any]) -> None:
        self._place = place
        self._made: list[weakref.ref[Any]] = []

    def begin(self, patches: Patches) -> None:
        """Watches modules and optimizers as they are made, and the first call of a module after that."""
        import torch

        kind: Any = torch.nn.Module
        init, call, of_optimizer = kind.__init__, kind.__call__, torch.optim.Optimizer.__init__

        @functools.wraps(init)
        def made(module: Any, *args: Any, **named: Any) -> None:
            self._made.append(weakref.ref(module))
            init(module, *args, **named)

        @functools.wraps(call)
        def called(module: Any, *args: Any, **named: Any) -> Any:
            if self._made:
                self._place_all()
            return call(module, *args, **named)

        @functools.wraps(of_optimizer)
        def optimized(optimizer: Any, *args: Any, **named: Any) -> None:
            self._place_all()
            of_optimizer(optimizer, *args, **named)

        patches.set(kind, "__init__", made)
        patches.set(kind, "__call__", called)
        patches.set(torch.optim.Optimizer, "__init__", optimized)

    def _place_all(self) -> None:
        made = [module for each in self._made if (module := each()) is not None]
        self._made.clear()  # what placing makes is looked at the next time
        for model in list(_roots(made)):
            if all(tensor.is_cuda for tensor in model.parameters()):
                self._place(model)


def _roots(modules: list[Any]) -> Iterator[Any]:
    """The modules that are no part of another one."""
    parts = {id(child) for module in modules for child in module.children()}
    return (module for module in modules if id(module) not in parts)
