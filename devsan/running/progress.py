"""With how many steps a program is expected to end, as far as a library says it, or else its pass through its data.

The file that shows it is that of devsan/running/end.py.

transformers' Trainer and Lightning's say how many steps of an optimizer there will be. A loader of data says how many
batches it has; how many of them a step takes shows while it runs. Nothing is asked before the program asks it.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.running.end import WORDS


@dataclass
class _Pass:
    """A pass of a loader through its data.

    Attributes:
        iterator: torch's own.
        batches: how many it has.
        first: how many steps there were before it.
        taken: how many batches the program had when it stepped last.
    """

    iterator: weakref.ref[Any]
    batches: int
    first: int
    taken: int = 0


class Progress:
    """Follows the loaders and trainers of this process, and shows with how many steps they end."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._imports = AfterImport(
            {
                "torch.utils.data.dataloader": self._follow_loaders,
                "transformers.trainer_callback": self._follow_trainer,
                "lightning.pytorch.loops.fit_loop": self._follow_fit,
                "pytorch_lightning.loops.fit_loop": self._follow_fit,
            }
        )
        self._shown: mmap.mmap | None = None
        self._steps = 0
        self._last = 0  # as a trainer says; 0 without one
        self._passes: list[_Pass] = []

    def show_in(self, path: str) -> None:
        """Shows it in a new file from now on, and counts steps from one.

        Raises:
            OSError: there can be no such file.
        """
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, WORDS.size)  # a disk that is full later cannot end the program by SIGBUS
            self._shown = mmap.mmap(file, WORDS.size)
        finally:
            os.close(file)
        self._last = max(0, self._last - self._steps)
        self._steps, self._passes = 0, []

    def hide(self) -> None:
        """Shows nothing any more."""
        self._shown = None

    def follow(self) -> None:
        """Has what the program imports followed."""
        self._imports.install()

    def end(self) -> None:
        """Takes that back."""
        self._imports.remove()
        self._patches.undo()
        self._shown, self._steps, self._last, self._passes = None, 0, 0, []

    def after_step(self) -> None:
        """Counts a step."""
        self._steps += 1
        if self._shown is not None:
            WORDS.pack_into(self._shown, 0, *self._end())

    def _end(self) -> tuple[int, bool]:
        if self._last >= self._steps:
            return self._last, False
        self._passes = [each for each in self._passes if each.iterator() is not None]
        for each in self._passes:  # the oldest is the outermost
            taken = getattr(each.iterator(), "_num_yielded", 0)
            if taken < each.taken:  # its workers are kept for another pass
                each.first = self._steps - 1
            each.taken = taken
            if 0 < taken < each.batches:
                made = self._steps - each.first
                return each.first + max(made, math.ceil(made * each.batches / taken)), True
        return 0, False

    def _follow_loaders(self, module: Any) -> None:
        kind = getattr(module, "_BaseDataLoaderIter", None)
        if kind is not None:
            self._patches.set(kind, "__init__", _then(kind.__init__, self._begin_pass))

    def _begin_pass(self, iterator: Any, *_: Any, **__: Any) -> None:
        self._passes.append(_Pass(weakref.ref(iterator), len(iterator), self._steps))

    def _follow_trainer(self, module: Any) -> None:
        kind = module.CallbackHandler

        def begun(handler: Any, arguments: Any, state: Any, *_: Any, **__: Any) -> None:
            self._expect(state.max_steps - state.global_step)

        self._patches.set(kind, "on_train_begin", _then(kind.on_train_begin, begun))
        self._patches.set(kind, "on_train_end", _then(kind.on_train_end, self._ended))

    def _follow_fit(self, module: Any) -> None:
        kind = module._FitLoop

        def begun(loop: Any) -> None:
            trainer = loop.trainer
            known = [trainer.max_steps]
            if math.isfinite(loop.max_batches) and trainer.max_epochs:
                known.append(math.ceil(loop.max_batches / trainer.accumulate_grad_batches) * trainer.max_epochs)
            self._expect(min(steps for steps in known if steps > 0) - trainer.global_step)

        self._patches.set(kind, "on_run_start", _then(kind.on_run_start, begun))
        self._patches.set(kind, "on_run_end", _then(kind.on_run_end, self._ended))

    def _expect(self, more: int) -> None:
        self._last = self._steps + more if more > 0 else 0

    def _ended(self, *_: Any, **__: Any) -> None:
        self._last = 0


def _then(call: Any, tell: Callable[..., object]) -> Any:
    """A method that does what ``call`` does, and tells of it."""

    @functools.wraps(call)
    def called(*args: Any, **words: Any) -> Any:
        result = call(*args, **words)
        with suppress(Exception):  # another release of the library, an endless loader
            tell(*args, **words)
        return result

    return called
