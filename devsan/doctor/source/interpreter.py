"""Goes through a program without running it: statement by statement, with values that know devices only.

NOTE [Paths]
The program is followed once. Where a branch depends on what is not known, both sides are followed, each with the
names as they were before it, and a name that means different things afterwards means nothing. A loop over what the
program lists is followed round by round (loops.py); of another one its first round is a real one. A function of the
file is followed at each call with what it is given. So whatever is said of two tensors holds on some path that the
source allows, without guesses about data; what would need a guess is UNKNOWN.

Objects change, and are shared by all paths. A change in a branch that may not be taken (a region) leaves what was there
before possible, unless the object itself was made in that branch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from devsan.doctor.source import attributes, containers, expressions, statements
from devsan.doctor.source.definitions import ClassFacts
from devsan.doctor.source.events import Event
from devsan.doctor.source.frames import Exhausted, Frame, required_parameters
from devsan.doctor.source.objects import Object, element_of
from devsan.doctor.source.places import HOST, NOWHERE
from devsan.doctor.source.scope import Process, Scope, join_names
from devsan.doctor.source.source_file import SourceFile
from devsan.doctor.source.values import UNKNOWN, Tensor, Value
from devsan.doctor.source.values import Sequence as Items
from devsan.doctor.source.visible import UNSET, Visible

# Expressions: of a file, some seconds, and of one function or module that is followed for itself. A file of 4000 lines
# takes 40 000; what takes more calls itself in many ways, and says nothing new: the others then have less.
_BUDGET, _SHARE, _LEAST = 400_000, 60_000, 2_000


class Interpreter:
    """Follows one file.

    Attributes:
        source: the file.
        started: what is true of the process when it starts.
        events: what was seen.
        process: what is true of the process on this path.
        frames: the calls that are being followed, the innermost last.
        regions: the uncertain branches that are open.
        forgiving: how many handlers of broad exceptions are around.
        guards: how many branches are open that ask for the rank or the number of GPUs.
        owner: the class whose methods are checked for themselves; None while the program runs.
        running: what is followed is the program as it runs; later, functions and modules for themselves.
        followed: the functions that were followed at least once.
        leaving: how the last path that ended did: "return", "raise", "break" or "continue".
        product: the rounds of the loops that are open, multiplied.
        tests: those of the branches that are open.
        remembered: what functions gave that are told to remember it (functools.cache).
        replica: what is followed is DataParallel's copy of a module, on another GPU.
        uncounted: how many loops are open of which one round stands for all.
    """

    def __init__(self, source: SourceFile, visible: Visible = UNSET) -> None:
        """Prepares to follow ``source``, which is started with ``visible`` as its CUDA_VISIBLE_DEVICES."""
        self.source = source
        self.started = Process(visible=visible)
        self.events: list[Event] = []
        self.scope = Scope()
        self.process = self.started
        self.frames: list[Frame] = []
        self.regions: tuple[int, ...] = ()
        self.forgiving = 0
        self.guards = 0
        self.owner: ClassFacts | None = None
        self.running = True
        self.followed: set[ast.AST] = set()
        self.leaving = ""
        self.product, self.uncounted = 1, 0
        self.tests: list[ast.If] = []
        self.replica = False
        self.remembered: dict[ast.AST, Value] = {}
        self._opened = 0
        self.followed_calls = 0
        self._whole, self._share, self._left = _BUDGET - _SHARE, _SHARE, _SHARE

    def step(self) -> None:
        """Counts one expression.

        Raises:
            Exhausted: there were too many.
        """
        self._left -= 1
        if self._left < 0:
            raise Exhausted

    def refill(self) -> None:
        """Gives what is followed next its own share."""
        left = max(self._left, 0)
        given = max(min(self._share - left, self._whole), 0)
        self._whole, self._left = self._whole - given, left + given

    def abandon(self) -> None:
        """Forgets the calls and branches that were open."""
        self._share = max(self._share // 4, _LEAST)
        self.frames.clear()
        self.regions, self.forgiving, self.guards, self.owner = (), 0, 0, None
        self.product, self.uncounted = 1, 0
        self.tests.clear()
        self.replica = False

    @property
    def functions(self) -> tuple[ast.AST, ...]:
        """The functions that are active."""
        return tuple(frame.node for frame in self.frames)

    @property
    def calls(self) -> tuple[int, ...]:
        """The numbers of the calls that are active."""
        return tuple(frame.number for frame in self.frames)

    def peers(self) -> tuple[str, ...]:
        """The parameters of the active function that are tensors, and certainly there and not on the host."""
        if not self.frames or isinstance(self.frames[-1].node, ast.Lambda):
            return ()
        frame = self.frames[-1]
        return tuple(
            name for name in required_parameters(frame.node)
            if isinstance(value := frame.scope.names.get(name), Tensor) and value.where not in (HOST, NOWHERE)
        )  # fmt: skip

    def tell(self, event: Event) -> None:
        """Keeps what was seen."""
        self.events.append(event)

    def is_certain(self, target: Object) -> bool:
        """Returns whether a change of ``target`` happens on every path that has it."""
        return target.regions[: len(self.regions)] == self.regions

    @contextmanager
    def region(self) -> Iterator[None]:
        """A branch that may not be taken."""
        before = self.regions
        self._opened += 1
        self.regions = (*before, self._opened)
        try:
            yield
        finally:
            self.regions = before

    @contextmanager
    def under(self, test: ast.If) -> Iterator[None]:
        """The branches of a test."""
        self.tests.append(test)
        try:
            yield
        finally:
            if self.tests:
                self.tests.pop()

    def block(self, block: Sequence[ast.stmt], scope: Scope) -> bool:
        """Follows a block, and returns whether the path ends in it."""
        return any(statements.execute(self, statement, scope) for statement in block)

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Returns what an expression is; None is nothing."""
        return UNKNOWN if node is None else expressions.evaluate(self, node, scope)

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Gives a target its value."""
        if isinstance(target, ast.Name):
            scope.write(target.id, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, Items(None, value), scope)
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, Items) else None
            plain = not any(isinstance(each, ast.Starred) for each in target.elts)
            for number, each in enumerate(target.elts):
                known = items is not None and plain and len(items) == len(target.elts)
                self.assign(each, items[number] if known and items is not None else element_of(value), scope)
        elif isinstance(target, ast.Attribute):
            attributes.store(self, target, value, scope)
        elif isinstance(target, ast.Subscript):
            containers.store(self, target, value, scope)

    def both(self, one: Sequence[ast.stmt], other: Sequence[ast.stmt], scope: Scope) -> bool:
        """Follows two blocks of which one is taken."""
        names, process = dict(scope.names), self.process
        guards = self.guards
        with self.region():
            first_ends = self.block(one, scope)
        self.guards = guards
        after_one, process_one = scope.names, self.process
        scope.names, self.process = names, process
        with self.region():
            first_leaves = self.leaving
            second_ends = self.block(other, scope)
        self.guards = guards
        if first_ends and second_ends and first_leaves in ("continue", "break"):
            self.leaving = first_leaves  # some path goes on behind the round
        if first_ends and not second_ends:
            return False
        if second_ends and not first_ends:
            scope.names, self.process = after_one, process_one
            return False
        scope.names = join_names(after_one, scope.names)
        self.process = process_one.joined(self.process)
        return first_ends and second_ends
