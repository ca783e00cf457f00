"""How many steps a program is expected to take, as far as a library says it, or else its pass through its data.

The file that shows it is that of devsan/running/end.py.

transformers' Trainer and Lightning's say how many steps of an optimizer there will be. A loader of data says how many
batches it has, where its samplers are torch's or accelerate's own; how many of them a step takes shows while it runs.
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

_ENDLESS = 2**64 - 1
_LIBRARIES = ("torch.utils.data.", "accelerate.data_loader")


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
        for each in self._passes:  # the first use of a GPU may be within one
            each.first -= self._steps
        self._steps = 0

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
            last, of_pass = self._end()
            WORDS.pack_into(self._shown, 0, min(last, _ENDLESS), of_pass)

    def _end(self) -> tuple[int, bool]:
        if self._last >= self._steps:
            return self._last, False
        for each in self._alive():  # the oldest is the outermost
            taken = getattr(each.iterator(), "_num_yielded", 0)
            if taken < each.taken:  # its workers are kept for another pass
                each.first = self._steps - 1
            each.taken = taken
            if 0 < taken < each.batches:
                made = self._steps - each.first
                return each.first + max(made, math.ceil(made * each.batches / taken)), True
        return 0, False

    def _follow_loaders(self, module: Any) -> None:
        self._tell_after(module, "_BaseDataLoaderIter", __init__=self._begin_pass)

    def _begin_pass(self, iterator: Any, *_: Any, **__: Any) -> None:
        if _has_known_length(iterator._index_sampler):
            self._passes = [*self._alive(), _Pass(weakref.ref(iterator), len(iterator), self._steps)]

    def _alive(self) -> list[_Pass]:
        return [each for each in self._passes if each.iterator() is not None]

    def _follow_trainer(self, module: Any) -> None:
        def begun(handler: Any, arguments: Any, state: Any, *_: Any, **__: Any) -> None:
            self._expect(state.max_steps - state.global_step)

        self._tell_after(module, "CallbackHandler", on_train_begin=begun, on_train_end=self._ended)

    def _follow_fit(self, module: Any) -> None:
        def begun(loop: Any) -> None:
            trainer = loop.trainer
            if len(trainer.optimizers) != 1:
                return  # it counts the steps of each
            known = [trainer.max_steps]
            if math.isfinite(loop.max_batches) and trainer.max_epochs:
                known.append(math.ceil(loop.max_batches / trainer.accumulate_grad_batches) * trainer.max_epochs)
            self._expect(min(steps for steps in known if steps > 0) - trainer.global_step)

        self._tell_after(module, "_FitLoop", on_run_start=begun, on_run_end=self._ended)

    def _tell_after(self, module: Any, of: str, **calls: Callable[..., object]) -> None:
        """Has methods of a class tell of their calls; those that there are: another release may have others."""
        kind = getattr(module, of, None)
        for name, tell in calls.items() if kind is not None else ():
            if hasattr(kind, name):
                self._patches.set(kind, name, _then(getattr(kind, name), tell))

    def _expect(self, more: int) -> None:
        self._last = self._steps + more if more > 0 else 0

    def _ended(self, *_: Any, **__: Any) -> None:
        self._last = 0


def _has_known_length(sampler: Any) -> bool:
    """Whether nothing of the program's is asked for the length: what a sampler of its own answers may cost, or draw."""
    while sampler is not None:
        if not type(sampler).__module__.startswith(_LIBRARIES):
            return False
        sampler = getattr(sampler, "batch_sampler", None) or getattr(sampler, "sampler", None)
    return True


def _then(call: Any, tell: Callable[..., object]) -> Any:
    """A method that does what ``call`` does, and tells of it."""

    @functools.wraps(call)
    def called(*args: Any, **words: Any) -> Any:
        result = call(*args, **words)
        with suppress(Exception):  # another release of the library, an endless loader
            tell(*args, **words)
        return result

    return called
