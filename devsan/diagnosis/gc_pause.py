"""Python's garbage collector, held back while a report is made."""

from __future__ import annotations

import gc
from types import TracebackType


class Paused:
    """Within ``with Paused():`` the garbage collector does not start by itself.

    A report makes some ten thousand objects, which sets off a collection of everything that lives: with torch and
    transformers loaded that takes longer (80 ms) than the report itself.
    """

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_on:
            gc.enable()
