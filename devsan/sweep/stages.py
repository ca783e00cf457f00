"""The processes that cells are forks of: one for each interpreter and environment that is in use."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from devsan.fix.stage_process import StageProcess
from devsan.sweep.cell import Cell

Key = tuple[str, tuple[tuple[str, str], ...]]


class Stages:
    """Gives each cell its stage (NOTE [The stage] in devsan/fix/stage.py). May be used by several threads.

    What a library reads of its environment when it is imported must be what the cell has, so that cells with other
    variables are forks of another process. Only the variables that name a parameter's value are set after the fork.

    Args:
        environment: of the sweep.
        modules: what is imported once; without any there are no stages.
        folder: where they are found.
        most: how many are kept.
    """

    def __init__(self, environment: Mapping[str, str], modules: Sequence[str], folder: str, most: int) -> None:
        self._environment = dict(environment)
        self._modules = [module for module in modules if module != "torch"]  # which every stage imports
        self._is_on = bool(modules)
        self._folder = folder
        self._most = most
        self._stages: OrderedDict[Key, StageProcess] = OrderedDict()
        self._users: dict[Key, int] = {}
        self._lock = threading.Lock()

    def take(self, cell: Cell) -> StageProcess | None:
        """Returns the stage of ``cell`` until ``give_back``; None where it starts a process of its own."""
        if not self._is_on or cell.words[0] == "--":
            return None
        key = _key(cell)
        with self._lock:
            stage = self._stages.get(key)
            if stage is None:
                self._make_room()
                environment = {**self._environment, **dict(cell.fixed)}
                stage = StageProcess(environment, cell.python or sys.executable, self._modules, self._folder)
            self._stages[key] = stage
            self._stages.move_to_end(key)
            self._users[key] = self._users.get(key, 0) + 1
            return stage

    def give_back(self, cell: Cell, broken: bool = False) -> None:
        """Says that ``cell`` has ended; a stage that is ``broken`` is not used again."""
        key = _key(cell)
        with self._lock:
            self._users[key] -= 1
            if broken and key in self._stages:
                self._stages.pop(key).close()

    def close(self) -> None:
        """Ends them all."""
        with self._lock:
            for stage in self._stages.values():
                stage.close()
            self._stages.clear()

    def _make_room(self) -> None:
        for key in [key for key in self._stages if not self._users.get(key)]:
            if len(self._stages) < self._most:
                return
            self._stages.pop(key).close()


def _key(cell: Cell) -> Key:
    return cell.python, cell.fixed
