"""What an optimizer keeps follows the weights: its state is loaded once more behind a move of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.scope import positional
from devsan.fix.source import Source, source_of

_DOUBT = 7


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the lines that bring state after the weights."""
    if failure.finding["code"] != "DV110":
        return
    placing = (frame for operand in failure.operands for frame in placing_frames(operand))
    for path in dict.fromkeys(frame["path"] for frame in (*failure.own_frames, *placing)):
        source = source_of(path)
        if source is not None:
            yield from _follows(failure, source)


def _follows(failure: Failure, source: Source) -> Iterator[Change]:
    """Behind each move of a module the state of its optimizer is loaded once more, which puts it beside the weights."""
    seen = [statement for frame in failure.moves_of_models() if frame["path"] == source.path
            for statement in _statements_at(source, frame)]  # fmt: skip
    for made in ast.walk(source.tree):
        if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
            continue
        modules = {
            source.segment(each.func.value) for each in ast.walk(made.value)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "parameters"
        }  # fmt: skip
        called = f"{source.segment(made.targets[0])} {source.segment(made.value.func)}".lower()
        if not modules and "opt" not in called and "adam" not in called and "sgd" not in called:
            continue  # it is no optimizer
        around = source.function_around(made)
        written = (each for each in ast.walk(around)
                   if isinstance(each, (ast.Expr, ast.Assign)) and _moves_one_of(source, each, modules))  # fmt: skip
        of_model = (each for each in seen if modules and source.function_around(each) is around)
        beside = [*written, *of_model]
        after: list[ast.stmt] = [move for move in beside if move.lineno >= made.lineno]
        after += [each for move in beside for each in _made_once_behind(source, made, move)]
        name = source.segment(made.targets[0])
        given = [each for each in seen if name in positional(source.function_around(each))]  # by that name
        for move in dict.fromkeys((*after, *_last_of_methods(source, made, seen), *given)):
            yield _loaded_again(source, name, move)
    for name, move in _kept_behind(failure, source, seen):
        yield _loaded_again(source, name, move)


def _loaded_again(source: Source, name: str, after: ast.stmt) -> Change:
    text = message("load the state of `{name}` once more after `{move}`, so that it is where the weights are",
                   name=name, move=source.segment(after).split("\n")[0])  # fmt: skip
    line = f"{name}.load_state_dict({name}.state_dict())"
    return Change(text, "statement_order", (source.insert_after(after, [line]),), doubt=_DOUBT)


def _kept_behind(
    failure: Failure, source: Source, moves: list[ast.Expr | ast.Assign]
) -> Iterator[tuple[str, ast.Assign]]:
    """Where a function that moves a module keeps the optimizer that failed, which it was given: ``self.opt = opt``."""
    frames = (each for each in failure.own_frames if each["path"] == source.path)
    calls = [source.expression_at(frame) for frame in frames]
    stepping = next((each for each in calls if isinstance(each, ast.Call) and function_name(each) == "step"), None)
    if stepping is None or not isinstance(stepping.func, ast.Attribute):
        return
    name, kind = source.segment(stepping.func.value), source.class_around(stepping)
    found: dict[ast.Assign, None] = {}
    for move in moves:
        function = source.function_around(move)
        for each in ast.walk(function) if source.class_around(move) is kind else ():
            if not isinstance(each, ast.Assign) or not isinstance(each.value, ast.Name) or each.lineno <= move.lineno:
                continue
            if each.value.id in positional(function) and name in map(source.segment, each.targets):
                found[each] = None
    yield from ((name, each) for each in found)


def _made_once_behind(source: Source, made: ast.Assign, move: ast.stmt) -> Iterator[ast.stmt]:
    """The statement behind ``move`` that makes the optimizer in one call, and not in those that follow: an ``if`` that
    asks for it, so that it is there behind it."""
    once = source.statement_in(made, source.block_of(move)) if move.lineno < made.lineno else None
    if isinstance(once, ast.If) and source.segment(made.targets[0]) in source.segment(once.test):
        yield once


def _last_of_methods(
    source: Source, made: ast.Assign, seen: list[ast.Expr | ast.Assign]
) -> Iterator[ast.Expr | ast.Assign]:
    """The last move in each other method of the class that keeps the optimizer: ``self.opt`` is there as well."""
    target, kind = made.targets[0], source.class_around(made)
    if kind is None or not isinstance(target, ast.Attribute) or source.segment(target.value) != "self":
        return
    last: dict[ast.AST, ast.Expr | ast.Assign] = {}
    for move in sorted(seen, key=lambda each: each.lineno):
        method = source.function_around(move)
        if source.class_around(move) is kind and method is not source.function_around(made):
            last[method] = move
    yield from last.values()


def _statements_at(source: Source, frame: Mapping[str, Any]) -> Iterator[ast.Expr | ast.Assign]:
    node = source.expression_at(frame)
    statement = source.statement_around(node) if node is not None else None
    if isinstance(statement, (ast.Expr, ast.Assign)):
        yield statement


def _moves_one_of(source: Source, statement: ast.Expr | ast.Assign, modules: set[str]) -> bool:
    receiver = moved(statement.value)
    return receiver is not None and source.segment(receiver) in modules
