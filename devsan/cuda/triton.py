"""Triton, where it is installed: a kernel of a program's own cannot run on an emulated GPU, and says so."""

from __future__ import annotations

from typing import Any, NoReturn

from devsan.cuda.patches import Patches
from devsan.cuda.refused import refuse


def change_jit(module: Any, patches: Patches) -> None:
    """Makes a launch refuse by name, before Triton looks for a driver. Its interpreter is another class and stays."""

    def run(self: Any, *args: Any, **options: Any) -> NoReturn:
        refuse(f"the Triton kernel {getattr(self, '__name__', None) or self.fn.__name__!s} is")

    patches.set(module.JITFunction, "run", run)
    if "warmup" in vars(module.JITFunction):
        patches.set(module.JITFunction, "warmup", run)
