"""The models and optimizers that a failure can have to do with: those that its frames lead to.

A process may hold many others: what an earlier experiment left in a notebook, or a test in a process of tests, says
nothing about this failure. So nothing is looked for among all living objects, only among what variables refer to.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import DEVSAN, PYTHON, package_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import is_a

_BUDGET = 50_000  # objects that are looked at
_OWN = frozenset({"", "torch", PYTHON, DEVSAN})
_CLOSED = (str, bytes, bytearray, int, float, complex, type, type(None), types.ModuleType, types.CodeType,
           types.BuiltinFunctionType, types.FrameType, types.TracebackType, types.GeneratorType)  # fmt: skip


def reachable(frames: Sequence[Frame], kind: type, most: int) -> list[Any]:
    """Returns objects of ``kind`` that variables lead to, those of the failing frames' own code first.

    Runs nothing of the program: the garbage collector says what an object refers to.

    Args:
        frames: of the traceback, outermost first; with them the frames that called the outermost count.
        kind: torch.nn.Module, whose children are not looked at, or torch.optim.Optimizer.
        most: how many at most.
    """
    found: list[Any] = []
    seen: set[int] = set()
    waiting: deque[Any] = deque(_variables(frames))
    while waiting and len(seen) < _BUDGET and len(found) < most:
        value = waiting.popleft()
        if id(value) in seen or is_a(value, *_CLOSED):
            continue
        seen.add(id(value))
        if is_a(value, kind):
            found.append(value)
        elif type(value) is types.FunctionType:
            waiting.extend(cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
        elif not is_tensor(value) and not is_module(value):
            waiting.extend(gc.get_referents(value))
    return found


def _variables(frames: Sequence[Frame]) -> Iterator[Any]:
    """Yields the values of variables: of the frames, innermost first, of their callers, of the program's files."""
    scopes = [frame.scope for frame in reversed(frames)]
    for scope in scopes:
        yield from list(scope.locals.values())
    caller = frames[0].caller if frames else None
    while caller is not None and package_of(caller.f_code.co_filename) in _OWN:  # not the runner of tests or notebooks
        yield from list(caller.f_locals.values())
        caller = caller.f_back
    for frame in reversed(frames):
        if frame.whose is Whose.PROGRAM:
            yield from list(frame.scope.globals.values())


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
