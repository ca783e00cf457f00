"""The line of the program that registered a hook, moved a model, wrapped it, built an optimizer.

Two witnesses. Where placements are recorded, a tensor's provenance has the stack of whoever put it there. Else the
program's own files tell, if what was called is written there once: see
``devsan.introspect.provenance.lineage``, NOTE [Lineage].
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FrameType, TracebackType
from typing import Any

from devsan import core
from devsan.diagnosis.source import shown_path
from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.torch_names import MODULE_MOVES
from devsan.introspect.frames.frames import Frame, Whose, frames_of, whose
from devsan.introspect.frames.tensors import is_module
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.source.sources import statements_of, tree_at, tree_of

DISPATCH = frozenset({
    "dispatch_model", "simple_dispatch_model", "load_checkpoint_and_dispatch", "cpu_offload", "disk_offload",
    "cpu_offload_with_hook", "attach_align_device_hook", "attach_align_device_hook_on_blocks",
    "attach_execution_device_hook", "add_hook_to_module", "enable_model_cpu_offload", "enable_sequential_cpu_offload",
})  # fmt: skip
"""What hangs up accelerate's hooks, by its last word; ``from_pretrained`` does where it is given a device_map."""

_MOST = 8  # files of the program


@dataclass(frozen=True)
class Placing:
    """One placement on a tensor's provenance: who, by what, on which device, at which line of the program."""

    owner: str
    mechanism: str
    device: str
    place: Place | None


class Lines:
    """Finds lines.

    NOTE [Variables of running frames] Up to Python 3.12 a frame that was asked for its variables keeps a copy of them,
    and so what they held, until its function returns: memory that the program frees meanwhile would not be free. They
    are asked for once a fault was found, and no record tells its line.

    Args:
        frames: those of a traceback, outermost first; their variables were read already.
        caller: in place of them, the innermost running frame.
    """

    def __init__(self, frames: Sequence[Frame] = (), caller: FrameType | None = None) -> None:
        self._given, self._caller = list(frames), caller
        self._reader = ProvenanceReader() if core.is_here() else None

    @cached_property
    def files(self) -> list[str]:
        """The program's own files: of the frames, innermost first, and the main one."""
        found = [code.co_filename for code, _ in reversed(self._running) if whose(code.co_filename) is Whose.PROGRAM]
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        if isinstance(main, str) and whose(main) is Whose.PROGRAM:
            found.append(main)
        return list(dict.fromkeys(found))[:_MOST]

    def provenance(self, tensor: Any) -> list[Placing]:
        """Returns who placed ``tensor``, the last first; empty where nothing was recorded."""
        if self._reader is None:
            return []
        found = []
        for event in self._reader.of(tensor):
            if str(event.owner.name):
                frame = next((each for each in event.stack if not each.package), None)
                found.append(Placing(
                    str(event.owner.name), str(event.owner.mechanism), str(event.device),
                    _place_of_frame(frame) if frame is not None else None,
                ))  # fmt: skip
        return found

    def dispatch(self, tensors: Sequence[Any] = ()) -> Place | None:
        """Returns the line that had accelerate hang its hooks onto the modules of ``tensors``."""
        for tensor in tensors:
            for placing in self.provenance(tensor):
                if placing.owner in ("accelerate", "transformers", "diffusers") and placing.place is not None:
                    return placing.place
        return self.call(lambda call: last_word(call.func) in DISPATCH or _has_map(call))

    def move(self, module_ids: frozenset[int], tensors: Sequence[Any] = ()) -> Place | None:
        """Returns the line that moved one of the modules with ``to`` or its like.

        Args:
            module_ids: of the module and those around it.
            tensors: of the module.
        """
        for tensor in tensors:
            provenance = self.provenance(tensor)
            if provenance and provenance[0].mechanism == "Module.to" and provenance[0].place is not None:
                return provenance[0].place

        def moves(call: ast.Call) -> bool:
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in MODULE_MOVES:
                return False
            return any(id(value) in module_ids for value in self._values(function.value))

        return self.call(moves)

    def named(self, *names: str) -> Place | None:
        """Returns the only call of something called so, by its last word."""
        return self.call(lambda call: last_word(call.func) in names)

    def calls_functionally(self, model: Any) -> bool:
        """Returns whether the program calls ``torch.func.functional_call`` with ``model``, or with what has no value
        here."""

        def is_with_it(call: ast.Call) -> bool:
            if last_word(call.func) != "functional_call" or not call.args:
                return False
            values = list(self._values(call.args[0]))
            return not values or any(each is model for each in values)

        return any(is_with_it(call) for file in self.files for call in _calls_in(file))

    def meta_context(self) -> Place | None:
        """Returns the only ``torch.device("meta")``, or argument ``device="meta"``, of the program."""
        return self.call(
            lambda call: any(
                isinstance(each, ast.Constant) and each.value == "meta"
                for each in (*call.args, *(word.value for word in call.keywords if word.arg == "device"))
            )
        )

    def dropped_data(self) -> Place | None:
        """Returns the only ``model.to("meta")`` of the program, which keeps shapes only, on purpose."""
        return self.call(
            lambda call: (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "to"
                and any(isinstance(each, ast.Constant) and each.value == "meta" for each in call.args)
            )
        )

    def state_loaded(self, optimizer: Any) -> Place | None:
        """Returns the only ``load_state_dict`` of this optimizer in the program."""

        def loads(call: ast.Call) -> bool:
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "load_state_dict":
                return False
            return any(frame.scope.value(function.value) is optimizer for frame in self._own_frames)

        return self.call(loads)

    def built(self, thing: Any) -> Place | None:
        """Returns the line of a running function that gave ``thing`` to a name; else the only call of its class."""
        found = self.named(type(thing).__name__)
        if found is not None:
            return found
        for frame in self._own_frames:
            tree = tree_of(frame.code)
            for node in statements_of(tree) if tree is not None else ():
                call = node.value if isinstance(node, ast.Assign) else None
                if not isinstance(call, ast.Call) or last_word(call.func) != type(thing).__name__:
                    continue
                if frame.scope.value(node.targets[0]) is thing:  # type: ignore[attr-defined]
                    return place_of(frame.file, call)
        return None

    def of_hook(self, function: Any, code: CodeType) -> Place | None:
        """Returns the line that registers ``function`` as a hook; where it is written, if that is not found."""
        name = getattr(function, "__name__", "")

        def registers(call: ast.Call) -> bool:
            if not last_word(call.func).startswith("register_forward") or not call.args:
                return False
            given = call.args[0]
            if isinstance(given, ast.Lambda):
                return name == "<lambda>" and given.lineno <= code.co_firstlineno <= (given.end_lineno or 0)
            return last_word(given) == name

        found = self.call(registers, [code.co_filename, *self.files])
        return found or Place(shown_path(code.co_filename), code.co_firstlineno)

    def call(self, fits: Callable[[ast.Call], bool], files: Sequence[str] | None = None) -> Place | None:
        """Returns the only call that ``fits`` in the first file that has one; None where it has several."""
        for file in self.files if files is None else dict.fromkeys(files):
            ahead = self._ahead(file)
            found = [call for call in _calls_in(file) if id(call) not in ahead and fits(call)]
            if found:
                return place_of(file, found[0]) if len(found) == 1 else None
        return None

    def _values(self, node: ast.expr) -> Iterator[object]:
        """What an expression stands for in the frames that live; a name that is assigned the result of itself too."""
        for frame in self._own_frames:
            value = frame.scope.value(node)
            if is_module(value):
                yield value

    def _ahead(self, file: str) -> set[int]:
        """What running functions of ``file`` have not come to yet."""
        return {
            id(node)
            for code, line in self._running
            if code.co_filename == file and (tree := tree_of(code)) is not None
            for node in statements_of(tree)
            if getattr(node, "lineno", 0) > line
        }

    @cached_property
    def _running(self) -> list[tuple[CodeType, int]]:
        """Code and line of the frames, outermost first."""
        found = [(frame.code, frame.line) for frame in self._given]
        frame = self._caller
        while frame is not None:
            found.insert(0, (frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return found

    @cached_property
    def _own_frames(self) -> list[Frame]:
        """The program's frames, innermost first. See NOTE [Variables of running frames]."""
        frames = self._given or frames_of(trace_to(self._caller))
        return [frame for frame in reversed(frames) if frame.whose is Whose.PROGRAM]


def trace_to(frame: FrameType | None) -> TracebackType | None:
    """Returns a traceback as if ``frame`` had raised, from the outermost frame on."""
    trace: TracebackType | None = None
    while frame is not None:
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return trace


def last_word(node: ast.expr) -> str:
    """Returns ``to`` of ``model.to``, ``Adam`` of ``torch.optim.Adam``."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def place_of(file: str, node: ast.expr) -> Place:
    """Returns where ``node`` stands in ``file``."""
    first, last = node.lineno, node.end_lineno or node.lineno
    column, end = (_characters(file, line, offset) for line, offset in
                   ((first, node.col_offset), (last, node.end_col_offset or 0)))  # fmt: skip
    return Place(shown_path(file), first, column, last, end)


def _calls_in(file: str) -> Iterator[ast.Call]:
    whole = tree_at(file)
    return (node for node in ast.walk(whole or ast.Module([], [])) if isinstance(node, ast.Call))


def _has_map(call: ast.Call) -> bool:
    return any(word.arg == "device_map" for word in call.keywords)


def _characters(file: str, line: int, offset: int) -> int:
    text = linecache.getline(file, line)
    return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1


def _place_of_frame(frame: core.Frame) -> Place:
    span = frame.span
    file = shown_path(str(frame.file))
    return Place(file, int(span.line), int(span.column), int(span.end_line), int(span.end_column))
