"""Loops and comprehensions: how often they go round, and with what.

What is listed in the program is gone through item by item, as far as that is not too much; of anything else one round
stands for all of them, and while the program runs a second one that meets what the first has left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devsan.doctor.source import conditions, containers
from devsan.doctor.source.objects import Object, element_of, lose
from devsan.doctor.source.scope import Scope, join_names
from devsan.doctor.source.values import UNKNOWN, Const, Parameters, Sequence, Table, Value, join_all

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter

# Rounds of nested loops together: of the program as it runs, and of what is followed for itself.
_MOST, _MOST_ALONE = 64, 12


def listed(value: Value) -> list[Value] | None:
    """Returns what a loop over ``value`` is given, round by round; None where that is not known."""
    if isinstance(value, Sequence):
        return None if value.items is None else list(value.items)
    if isinstance(value, Table):
        return [Const(key) for key, _ in value.items] if value.whole and value.items else None
    if isinstance(value, Object) and value.state.counted:
        if value.state.type == "torch.nn.ModuleDict":
            return [Const(name) for name in value.state.attributes]
        return list(value.state.children)
    return None


def follow_for(run: Interpreter, node: ast.For | ast.AsyncFor, scope: Scope) -> bool:
    """Follows a loop, and returns whether the path ends in it."""
    holder = containers.iterate(run, node.iter, scope)
    if isinstance(holder, Parameters) and _gives_data(node):
        lose(holder.model)
    items = listed(holder)
    room = _room(run)
    if items and len(items) <= room:
        with _inside(run, len(items)):
            for item in items:
                run.assign(node.target, item, scope)
                if run.block(node.body, scope):
                    if run.leaving == "continue":
                        continue
                    return run.leaving != "break"
        return run.block(node.orelse, scope)
    element = element_of(holder) if items is None else join_all(items)
    if items and isinstance(items[0], Const):
        element = items[0]  # the first round is a real one
    _one_for_all(run, node, scope, element)
    run.block(node.orelse, scope)
    return False


def _gives_data(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop gives weights other data: ``p.data = p.data.cuda()``."""
    targets = (each for inner in ast.walk(node) if isinstance(inner, ast.Assign) for each in inner.targets)
    return any(isinstance(each, ast.Attribute) and each.attr == "data" for each in targets)


def follow_while(run: Interpreter, node: ast.While, scope: Scope) -> bool:
    """Follows a loop that a test ends."""
    known = conditions.truth(run, node.test, scope)
    if known is False:
        run.block(node.orelse, scope)
        return False
    _one_for_all(run, node, scope, None)
    return False


def comprehension(
    run: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope
) -> Value:
    """Returns what a comprehension gives."""
    inside = Scope(parent=scope)
    made: list[tuple[Value, Value]] = []
    whole = all(list(_rounds(run, node, inside, 0, made)))  # all of them are followed
    if isinstance(node, ast.DictComp):
        table = containers.table_of(made)
        return table if whole else Table((), False, join_all([value for _, value in made]) if made else None)
    values = [value for _, value in made]
    return Sequence(tuple(values)) if whole else Sequence(None, join_all(values))


def _rounds(
    run: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, inside: Scope, depth: int,
    made: list[tuple[Value, Value]],
) -> Iterator[bool]:  # fmt: skip
    """Goes through the loops of a comprehension, and yields for each whether its rounds are known."""
    if depth == len(node.generators):
        if isinstance(node, ast.DictComp):
            made.append((run.value(node.key, inside), run.value(node.value, inside)))
        else:
            made.append((UNKNOWN, run.value(node.elt, inside)))
        return
    generator = node.generators[depth]
    holder = containers.iterate(run, generator.iter, inside)
    items = listed(holder)
    known = items is not None and 0 < len(items) <= _room(run)
    yield known or items == []
    with _inside(run, len(items) if known and items is not None else 1, not known):
        for item in items if known and items is not None else [element_of(holder)]:
            run.assign(generator.target, item, inside)
            asked = [conditions.truth(run, test, inside) for test in generator.ifs]
            if False in asked:
                continue
            yield None not in asked
            yield from _rounds(run, node, inside, depth + 1, made)


def _one_for_all(
    run: Interpreter, node: ast.For | ast.AsyncFor | ast.While, scope: Scope, element: Value | None
) -> None:
    again = run.running and run.product == 1
    with _inside(run, 2 if again else 1, True):
        if isinstance(node, ast.For | ast.AsyncFor):
            run.assign(node.target, element or UNKNOWN, scope)
        ended = run.block(node.body, scope) and run.leaving != "continue"
        if ended or not again:
            return
        # What the second round leaves may not be there: it has to be gone through for what it meets.
        names, process = dict(scope.names), run.process
        with run.region():
            if isinstance(node, ast.For | ast.AsyncFor):
                run.assign(node.target, element or UNKNOWN, scope)
            run.block(node.body, scope)
        scope.names, run.process = join_names(names, scope.names), process.joined(run.process)


def _room(run: Interpreter) -> int:
    return (_MOST if run.running else _MOST_ALONE) // max(run.product, 1)


class _inside:
    """One more loop is open: how many rounds it has, and whether that is not known."""

    def __init__(self, run: Interpreter, rounds: int, uncounted: bool = False) -> None:
        self.run, self.rounds, self.uncounted = run, max(rounds, 1), uncounted

    def __enter__(self) -> None:
        self.before = self.run.product
        self.run.product *= self.rounds
        self.run.uncounted += self.uncounted

    def __exit__(self, *error: object) -> None:
        self.run.product = self.before
        self.run.uncounted -= self.uncounted
