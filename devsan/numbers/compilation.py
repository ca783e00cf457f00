"""Notes that a program compiles what it runs.

NOTE [Compiled functions] torch.compile takes a function apart before it runs it, so that a mismatch inside is an error
of the compiler: without the operands, and raised where no reference run could go on. So experiments run compiled
functions as they are written, by torch's own TORCHDYNAMO_DISABLE. What is called verified ran compiled once more, and
where only the compiled program fails, all experiments are compiled.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

DISABLED = "TORCHDYNAMO_DISABLE"
"""Read by torch/_dynamo/eval_frame.py at each call of torch.compile."""

_NOTE = "compiles"


def note_compilation(folder: Path) -> None:
    """Has a call of torch.compile, or of a module's ``compile``, leave a note in ``folder``. Needs torch."""
    import torch

    def noting(compile: Any) -> Any:
        @functools.wraps(compile)
        def noted(*arguments: Any, **named: Any) -> Any:
            folder.joinpath(_NOTE).touch()
            return compile(*arguments, **named)

        return noted

    kind: Any = torch.nn.Module
    torch.compile, kind.compile = noting(torch.compile), noting(kind.compile)


def as_written(name: str) -> str:
    """Returns the name of a parameter without what torch/_dynamo/eval_frame.py puts around a compiled module."""
    return name.replace("_orig_mod.", "")


def compiles(folder: Path) -> bool:
    """Returns whether a process of a run whose numbers are in ``folder`` compiled something."""
    return folder.joinpath(_NOTE).exists()
