"""The calls of torch that a program makes, and whether another run of it makes them, too.

NOTE [Calls] A program that keeps nothing and prints shapes has no results by which a run could be told from one that
stops early, or that skips what failed. For such programs a run keeps every call of a function of torch that takes and
gives tensors: its name, what its operands require of autograd, a digest of its results. A fix adds moves, which are
left out; every other call of the reference must be there with the same results. Moves count as well where even the
calls do not tell the runs apart: a program that only moves something. Calls that a change adds are none of
the reference's, so that a change which computes the same in another way is not verified, and no skipped call is.

A call that writes a tensor proves nothing if a copy is written and thrown away. So it also counts whether something
beside variables of functions holds the tensor, and where nothing does, whether a later call reads it. What is written
and neither held nor read in the reference itself leaves a program unverified.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, GeneratorType
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.diagnostics.torch_names import MOVES
from devsan.numbers.comparison import Event, differ

LOST = "lost"
"""Kind of the event that is written for each tensor that was written and then never read."""

KINDS = (("call",), ("call", "move"))
"""Kinds of events that are compared, the second where the first tell nothing."""

_PLACING = MOVES | {"numpy", "numpy_", "__array__", "__array_wrap__", "__get__", "__set__", "__delete__", "pin_memory"}
_IN_PLACE = frozenset(
    f"__i{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
) | {"__setitem__"}
_MOST_LOOKED_FOR = 200  # each search for what holds a tensor walks the whole heap

_calls: Any = None


def begin(write: Callable[..., None]) -> None:
    """Keeps the calls of the main thread from here on. Needs torch.

    Args:
        write: takes kind, tensors, names and facts of an event.
    """
    global _calls
    from torch.overrides import TorchFunctionMode

    class Calls(TorchFunctionMode):  # type: ignore[misc]  # Any where torch is not installed
        """Sees the calls that Python code makes, and not those that these make inside."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            if threading.current_thread() is not threading.main_thread():
                return function(*args, **named)
            return _kept(write, function, args, named)

    _calls = Calls()
    _calls.__enter__()


_unread: dict[int, Any] = {}  # written, and held by no object; with the tensors, so that no id is used twice
_looked_for = 0


def end(write: Callable[..., None]) -> None:
    """Writes what was written and never read."""
    for tensor in _unread.values():
        write(LOST, [tensor])
    _unread.clear()


def _kept(write: Callable[..., None], function: Any, args: Any, named: Any) -> Any:
    name = getattr(function, "__name__", "")
    operands = list(_tensors([args, named]))
    if name in _PLACING or not operands:
        returned = function(*args, **named)
        if name in MOVES:
            write("move", list(_tensors(returned)), ["move"])
        return returned
    records = sys.modules["torch"].is_grad_enabled()  # a move without gradients gives a tensor that requires none
    facts: list[Any] = [records, *(records and tensor.requires_grad for tensor in operands)]
    returned = function(*args, **named)
    out = named.get("out")
    written = out if out is not None else args[0] if args and _writes(name) else None
    for operand in operands:
        if operand is not written:
            _unread.pop(id(_owner(operand)), None)
    del operands  # it holds what is written, as the list of results does
    facts += [_is_held(_owner(tensor), args) for tensor in _tensors(written)]
    results = list(_tensors(returned)) or list(_tensors(written))
    if results:
        write("call", results, [name], facts)
    return returned


def _writes(name: str) -> bool:
    return name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))


def _owner(tensor: Any) -> Any:
    return tensor._base if tensor._is_view() else tensor


def _is_held(tensor: Any, args: Any) -> bool:
    """Whether an object, a list or the main module refers to it, and not a function's variables alone."""
    global _looked_for
    _looked_for += 1
    if _looked_for > _MOST_LOOKED_FOR:
        return True
    for holder in gc.get_referrers(tensor):
        if holder is not args and holder is not _unread and not isinstance(holder, (FrameType, GeneratorType)):
            return True
    _unread[id(tensor)] = tensor
    return False


def _tensors(value: Any, depth: int = 3) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each, depth - 1)
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each, depth - 1)


def missing(
    reference: Mapping[str, Sequence[Event]], other: Mapping[str, Sequence[Event]], kinds: Sequence[str]
) -> Message | None:
    """Returns which call of ``reference`` is not in ``other`` with the same results; None where all are."""
    for process, events in reference.items():
        there: dict[str, list[Event]] = {}
        for event in other.get(process, ()):
            if event["kind"] in kinds:
                there.setdefault(event["names"][0], []).append(event)
        for event in calls_of(events, kinds):
            found = there.get(event["names"][0], [])
            same = next((number for number, each in enumerate(found) if _same(event, each)), None)
            if same is None:
                return message("no call of {name} has the result of one device", name=event["names"][0])
            del found[same]
    return None


def calls_of(events: Sequence[Event], kinds: Sequence[str]) -> list[Event]:
    """Returns the calls among the events of a process."""
    return [event for event in events if event["kind"] in kinds]


def loses(numbers: Mapping[str, Sequence[Event]]) -> bool:
    """Returns whether a run wrote a tensor that nothing read or held."""
    return any(event["kind"] == LOST for events in numbers.values() for event in events)


def _same(one: Event, other: Event) -> bool:
    if one.get("facts") != other.get("facts") or len(one["tensors"]) != len(other["tensors"]):
        return False
    return not any(differ(mine, its) for mine, its in zip(one["tensors"], other["tensors"], strict=True))
