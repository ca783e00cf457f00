"""Keeps what a program computes while it runs: losses, gradients, weights, outputs, and what is left at its end.

NOTE [What is observed] Whatever reaches one of these places, in the order in which it reaches them:

  loss       what ``backward`` is called on
  gradients  of the leaves of its graph, once it has run; what ``torch.autograd.grad`` returns
  steps      the gradients that an optimizer is about to use, and its learning rates
  weights    of an optimizer's parameters, after each step
  output     of a module that no other module calls, whether its modules train (NOTE [Modes that are read] in
             ``training_modes``) and what of it requires gradients; the value of a statement of the main program; arrays
             of NumPy as tensors are
  value      that the program's own code takes out of a tensor: ``item``, ``float``, ``print`` (``host_reads``)
  state      tensors, and the parameters of modules, that ``__main__`` holds at the end of the program; what a library's
             object holds (a loader's data, a trainer's model) may be elsewhere in it after a fix: it need not be found;
             an entry may have another key (NOTE [Keys that a fix changes] in ``renamed_entries``)

A parameter that no step changes noticeably still shows in ``steps``: one that another tensor has taken the place of has
no gradient. Threads that the program starts itself are left out, because their order is another in each run, and the
inside of a transform of ``torch.func``, whose tensors have no values.

None of these depends on a device or on a line of the program, so that two runs of two versions of it can be compared.
``DEVSAN_NUMBERS`` names the folder in which each process writes a file, one event a line.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, TextIO

from devsan import core
from devsan.errors import tell
from devsan.forks import in_each_child
from devsan.installed import class_file, is_library
from devsan.numbers import calls, reference, replicas
from devsan.numbers.compilation import as_written, note_compilation
from devsan.numbers.digest import digest
from devsan.numbers.host_reads import HostReads
from devsan.numbers.renamed_entries import BY_NUMBER
from devsan.numbers.statements import PASSING
from devsan.numbers.training_modes import training_modes

VARIABLE = "DEVSAN_NUMBERS"
CALLS = "DEVSAN_CALLS"
"""Set where each call of torch is kept, too (NOTE [Calls] in ``calls``)."""
ROUNDING = "DEVSAN_ROUNDING"
"""Set where backward passes round otherwise (NOTE [Noise of rounding] in ``noise``)."""

MOST = 2000
"""Events that a process writes; a later one is counted and no more."""

_LARGEST_GRAPH = 200_000
_DEEPEST = 4
_MOST_OF_A_VALUE = 256
_KINDS_OF_ARRAYS = "bif"  # of NumPy's dtypes: those that torch has, almost
_OF_MODULES = ("_parameters", "_buffers", "_modules")
_NO_VALUES = (type, FunctionType, MethodType, ModuleType)

_observer: Observer | None = None


class Observer:
    """What writes the events of this process.

    Args:
        stream: where.
        rounds_anew: whether backward passes round otherwise (NOTE [Noise of rounding] in ``noise``).
    """

    def __init__(self, stream: TextIO, rounds_anew: bool = False) -> None:
        self._stream = stream
        self._rounds_anew = rounds_anew
        self._written = 0
        self._depth = 0
        self._left = False
        self._ran_on: set[Any] = set()  # devices of the weights of modules that were called

    def leave(self) -> None:
        """Writes nothing from here on."""
        self._left = True

    def install(self) -> None:
        """Has torch call this object. Needs torch, and an emulation that runs."""
        import torch
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        graph: Any = torch.autograd.graph
        graph._engine_run_backward = torch.autograd._engine_run_backward = self._around(graph._engine_run_backward)
        register_module_forward_pre_hook(self._enter)
        register_module_forward_hook(self._leave, always_call=True)
        register_optimizer_step_pre_hook(self._stepping)
        register_optimizer_step_post_hook(self._stepped)
        HostReads(lambda tensor: self.write("value", [tensor])).install()

    def write(self, kind: str, tensors: list[Any], names: list[str] | None = None, facts: Any = None) -> None:
        """Writes an event, but none inside of a function transform. Never raises."""
        if _is_transforming():
            return
        self._written += 1
        if self._written > MOST or self._left:
            return
        try:
            with _unwatched():
                digests = [None if each is None else digest(each) for each in tensors]
            event: dict[str, Any] = {"kind": kind, "tensors": digests}
            if names is not None:
                event["names"] = names
            if facts is not None:
                event["facts"] = facts
            self._stream.write(json.dumps(event) + "\n")
            self._stream.flush()
        except Exception as error:
            tell(f"a result was not kept for the comparison: {type(error).__name__}: {' '.join(str(error).split())}")

    def end(self) -> None:
        """Writes what the program's main module holds. Called when the process ends."""
        if self._left:
            return
        names: list[str] = []
        tensors: list[Any] = []
        inside: list[str] = []
        for name, tensor, is_inside in _state(vars(sys.modules["__main__"])):
            names.append(name)
            tensors.append(tensor)
            inside += [name] if is_inside else []
        self.write("state", tensors, names, inside)
        calls.end(self.write)
        end = {"kind": "end", "events": self._written, "ran_on": sorted(map(str, self._ran_on))}
        self._stream.write(json.dumps(end) + "\n")
        self._stream.flush()

    def _around(self, run: Any) -> Any:
        def run_backward(roots: Any, gradients: Any, *rest: Any, **named: Any) -> Any:
            self.write("loss", list(roots))
            leaves = _leaves(roots)
            if self._rounds_anew:
                gradients = tuple(map(_rounded_anew, gradients))
            returned = run(roots, gradients, *rest, **named)
            self.write("gradients", list(returned) if returned else [leaf.grad for leaf in leaves])
            return returned

        return run_backward

    def _enter(self, module: Any, inputs: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth += 1

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth <= 0:
            self._depth = 0
            self._ran_on.update(each.device for each in module.parameters())
            tensors = list(islice(_tensors_in(output, _DEEPEST), _MOST_OF_A_VALUE))
            if tensors:
                # Not how many: a list of modules that a fix registers makes them more.
                modes = training_modes(module)
                self.write("output", tensors, facts=[modes, *(each.requires_grad for each in tensors)])

    def _stepping(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        gradients = [tensor.grad for group in optimizer.param_groups for tensor in group["params"]]
        self.write("steps", gradients, facts=[float(group.get("lr", 0.0)) for group in optimizer.param_groups])

    def _stepped(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        self.write("weights", [tensor for group in optimizer.param_groups for tensor in group["params"]])


def _rounded_anew(gradient: Any) -> Any:
    """A gradient that is larger by a rounding, which changes how all that is computed from it is rounded."""
    if gradient is None or not gradient.is_floating_point():
        return gradient
    return gradient * (1 + 2 * sys.modules["torch"].finfo(gradient.dtype).eps)


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Reads for itself, which the check of streams would take for the program's own reading."""
    was_watched = core.leave_order()
    try:
        yield
    finally:
        if was_watched:
            core.join_order()


def _is_transforming() -> bool:
    functorch: Any = sys.modules["torch"]._C._functorch
    return functorch.peek_interpreter_stack() is not None


def is_on() -> bool:
    """Returns whether this process is observed."""
    return _observer is not None


def keep(value: Any) -> None:
    """Writes the tensors in ``value`` as an output, or a number as a value. Never raises.

    A module is no result: ``model.cuda()`` evaluates to the model, which a fix may leave where it is. Neither is an
    integer: most are counts, and some count devices.
    """
    if _observer is None or isinstance(value, sys.modules["torch"].nn.Module):
        return
    if isinstance(value, float):
        _observer.write("value", [_number(value)])
        return
    tensors = list(islice(_tensors_in(value, _DEEPEST), _MOST_OF_A_VALUE))
    if tensors:
        _observer.write("output", tensors)


def begin() -> None:
    """Observes this process where its environment asks for it. Needs a running emulation; never raises."""
    global _observer
    folder = os.environ.get(VARIABLE)
    if not folder or _observer is not None:
        return
    try:
        _seed()
        core.draw_from_host(True)
        core.begin_with_zeros(True)
        reference.begin()
        replicas.take_turns()
        _observer = Observer(_new_file(Path(folder)), ROUNDING in os.environ)
        _observer.install()
        note_compilation(Path(folder))
        if os.environ.get(CALLS):
            calls.begin(_observer.write)
        atexit.register(_observer.end)
        in_each_child(_leave)
    except Exception as error:
        tell(f"what the program computes is not compared: {type(error).__name__}: {' '.join(str(error).split())}")


def _number(value: float) -> Any:
    import torch

    return torch.tensor(float(value), dtype=torch.float64, device="cpu")


def _new_file(folder: Path) -> TextIO:
    """A file of this process's own, called so that the same process of another run has the same name."""
    rank = os.environ.get("RANK", os.environ.get("LOCAL_RANK"))  # Lightning gives its children the latter alone
    name = f"rank{rank}" if rank is not None else multiprocessing.current_process().name
    for number in itertools.count(1):
        path = folder / (f"{name}.jsonl" if number == 1 else f"{name}.{number}.jsonl")
        with contextlib.suppress(FileExistsError):
            return path.open("x", encoding="utf-8")
    raise AssertionError


def _leave() -> None:
    """A fork, such as a loader's worker, is not observed: the file is its parent's."""
    if _observer is not None:
        _observer.leave()


def _seed() -> None:
    """A program that seeds nothing draws the same numbers in every run."""
    import torch

    rank = int(os.environ.get("RANK", "0"))
    random.seed(rank)
    torch.default_generator.manual_seed(rank)  # which torch seeds by chance
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(rank)


def _leaves(roots: Any) -> list[Any]:
    """The tensors whose gradients a backward pass from ``roots`` accumulates, in the order of the graph."""
    found: list[Any] = []
    seen: set[Any] = set()
    waiting = [root.grad_fn for root in roots if getattr(root, "grad_fn", None) is not None][::-1]
    while waiting and len(seen) < _LARGEST_GRAPH:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        waiting += [parent for parent, _ in reversed(node.next_functions) if parent is not None]
    return found


def _tensors_in(value: Any, depth: int) -> Iterator[Any]:
    """The tensors in a value, and NumPy's arrays as tensors."""
    return (tensor for _, tensor in _named_in(value, depth, ""))


def _named_in(value: Any, depth: int, path: str) -> Iterator[tuple[str, Any]]:
    """As ``_tensors_in``, each with the way to it: a buffer has the name that it had as a plain attribute."""
    import torch

    numpy: Any = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor):
        yield path, value
    elif numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        if value.dtype.kind in _KINDS_OF_ARRAYS and value.dtype.itemsize <= 8:
            yield path, torch.from_numpy(numpy.array(value))
    elif depth and isinstance(value, dict):
        for number, (key, each) in enumerate(value.items()):
            name = key if isinstance(key, (str, int)) else f"{BY_NUMBER}{number}"
            yield from _named_in(each, depth - 1, f"{path}[{name}]")
    elif depth and isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _named_in(each, depth - 1, f"{path}[{number}]")
    elif depth and isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, _NO_VALUES):
        for name, each in list(vars(value).items()):
            if isinstance(value, torch.nn.Module) and name in _OF_MODULES:
                for key, held in each.items():
                    yield from _named_in(held, depth - 1, f"{path}.{key}")
            else:
                yield from _named_in(each, depth - 1, f"{path}.{name}")


def _is_of_library(value: Any) -> bool:
    import torch

    if isinstance(value, (torch.Tensor, dict, list, tuple)):
        return False
    file = class_file(type(value))
    return file != "" and is_library(file)


def _states_of_optimizers(values: Iterable[Any]) -> set[int]:
    """The identities of the tensors that optimizers keep as their state."""
    import torch

    optimizers = (value for value in values if isinstance(value, torch.optim.Optimizer))
    states = (state for optimizer in optimizers for state in optimizer.state.values())
    return {id(each) for state in states if isinstance(state, dict) for each in state.values()
            if isinstance(each, torch.Tensor)}  # fmt: skip


def _state(names: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Name, tensor, and whether a library's object holds it."""
    import torch

    passing = names.get(PASSING, ())
    states = _states_of_optimizers(names.values())
    for name, value in list(names.items()):
        if name in passing:
            continue
        if isinstance(value, torch.nn.Module):
            held = [*value.named_parameters(remove_duplicate=False), *value.named_buffers(remove_duplicate=False)]
            for inner, tensor in held:  # under all of its names: a change may register it under another one first
                own = f"{name}.{as_written(inner)}"
                yield own, tensor, False
                if tensor.grad is not None:
                    yield f"{own}.grad", tensor.grad, False
        else:
            inside = _is_of_library(value)
            for path, tensor in islice(_named_in(value, _DEEPEST, name), _MOST_OF_A_VALUE):
                if not inside and id(tensor) in states:
                    continue  # a checkpoint that was loaded: whether it shares the state depends on the device
                yield path, tensor, inside
                if tensor.is_leaf and tensor.grad is not None:
                    yield f"{path}.grad", tensor.grad, inside
