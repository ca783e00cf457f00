"""What a forked child is to do before anything else."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable


@functools.cache
def in_each_child(function: Callable[[], object]) -> None:
    """Has ``function`` called once in each child that is forked from now on, for good: Python takes none back."""
    os.register_at_fork(after_in_child=function)
