"""When the program loads, runs forward, runs backward and steps its optimizers, for the time axis of a run.

A phase lasts until the next one begins. Forward begins with the first call of a module after the others have ended,
which the core waits for (NOTE [Calls of modules] in core/bindings/module_calls.cpp).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from devsan import core
from devsan.optimizer_steps import watch_steps
from devsan.run_files.run_file import PHASES

_NUMBERS = {"": 0, **{phase: number for number, phase in enumerate(PHASES, 1)}}

MOST = 20_000
"""Changes of phase that are kept; what comes after belongs to no phase."""

Row = list[Any]
"""The phase that begins ("" is none of them), and when: seconds since the start of the run."""


class Phases:
    """Follows the phases of this process, from now on until `end`.

    Args:
        start: of the run, on the clock of ``time.monotonic_ns``.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self._rows: list[Row] = [["load", 0.0]]
        self._written = 0
        self._open: list[str] = []  # backward passes and steps, the innermost last
        self._calls: core.ModuleCalls | None = None
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Has torch call this object. Does nothing where torch has no such hooks."""
        graph: Any = sys.modules.get("torch.autograd.graph")
        steps = watch_steps(self._begin_step, self._end_step) if hasattr(graph, "_engine_run_backward") else None
        if steps is None:
            return
        core.enter_phase(_NUMBERS["load"])
        self._undo = [steps, self._watch_backward(graph)]
        self._await_forward()

    def fresh(self) -> list[Row]:
        """Returns the changes since the last call."""
        rows = self._rows[self._written :]
        self._written += len(rows)
        return rows

    def end(self) -> None:
        """Takes everything away from torch again."""
        core.enter_phase(_NUMBERS[""])
        for undo in self._undo:
            undo()
        self._undo = []
        modules: Any = sys.modules.get("torch.nn.modules.module")
        if modules is not None and self._stands_in(modules.Module):
            modules.Module.__call__ = modules.Module.__call__  # the class shows torch's own

    def _watch_backward(self, graph: Any) -> Callable[[], None]:
        """``torch.autograd`` has bound the function under its own name, too."""
        autograd: Any = sys.modules["torch.autograd"]
        run = graph._engine_run_backward

        watched = core.around(run, self._begin_backward, self._end)  # no frame of this file in the program's stacks
        holders = [module for module in (graph, autograd) if getattr(module, "_engine_run_backward", None) is run]
        for module in holders:
            module._engine_run_backward = watched

        def undo() -> None:
            for module in holders:
                if module._engine_run_backward is watched:  # else somebody has wrapped it, and calls it
                    module._engine_run_backward = run

        return undo

    def _await_forward(self) -> None:
        modules: Any = sys.modules.get("torch.nn.modules.module")
        if modules is None or not self._undo:
            return
        if not self._stands_in(modules.Module):  # who patches a class puts back what the class showed
            self._calls = core.ModuleCalls(modules.Module.__call__, self._begin_forward)
            modules.Module.__call__ = self._calls
        assert self._calls is not None
        self._calls.await_call()

    def _stands_in(self, module: type) -> bool:
        return self._calls is not None and vars(module).get("__call__") is self._calls

    def _begin_forward(self) -> None:
        if not self._open:
            self._note("forward")

    def _begin_backward(self) -> int:
        depth = len(self._open)
        self._begin("backward")
        return depth

    def _begin_step(self, optimizer: Any) -> None:
        self._begin("optimizer")

    def _end_step(self, optimizer: Any) -> None:
        if "optimizer" in self._open:
            self._end(len(self._open) - 1 - self._open[::-1].index("optimizer"))

    def _begin(self, phase: str) -> None:
        if self._calls is not None:  # checkpoints call modules again while gradients are computed: no forward pass
            self._calls.stop_waiting()
        self._open.append(phase)
        self._note(phase)

    def _end(self, depth: int) -> None:
        """Ends all that was begun at ``depth`` or within."""
        del self._open[depth:]
        self._note(self._open[-1] if self._open else "")
        if not self._open:
            self._await_forward()

    def _note(self, phase: str) -> None:
        core.enter_phase(_NUMBERS[phase])
        if len(self._rows) < MOST and self._rows[-1][0] != phase:
            at = round((time.monotonic_ns() - self._start) * 1e-9, 6)
            self._rows.append([phase if len(self._rows) < MOST - 1 else "", at])
