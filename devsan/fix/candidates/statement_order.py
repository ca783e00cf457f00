"""A module moves before something is made from its parameters; what an optimizer keeps follows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, is_own, placing_frames, source_of
from devsan.fix.scope import devices, positional

_DOUBT = 5
_LOADED = 6
_STATE = 7
_EARLIER = 9
_PREPARES = frozenset({"prepare", "prepare_model", "setup", "setup_module"})
"""Methods of accelerate and Fabric that move the modules which they are given."""

_READ = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers"})


def propose(failure: Failure) -> Iterator[Change]:
    """Yields statements in another order, then the lines that bring state after the weights."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for first in placing_frames(operand):
            source = source_of(first["path"])
            if source is None or failure.is_live(first):
                continue
            of_models = _moves_of_models(failure) if operand["kind"] == "optimizer_state" else ()
            for second in (*placing_frames(partner, "moved"), *of_models):
                if second["path"] == first["path"] and not failure.is_live(second):
                    yield from _ordered(source, first, second)
            yield from _moved_before(source, first, partner)
    for path in failure.own_paths if failure.is_mixed else ():
        source = source_of(path)
        if source is not None:
            yield from _moved_late(source)
    for frame in (*failure.own_frames, *(frame for operand in failure.operands for frame in placing_frames(operand))):
        source = source_of(frame["path"])
        if source is not None and failure.finding["code"] == "DV110":
            yield from _state_follows(failure, source)


def _moves_of_models(failure: Failure) -> Iterator[Mapping[str, Any]]:
    """The user's own frames among those that moved the models to a GPU."""
    for model in failure.models:
        for event in model["placements"]:
            if event["kind"] == "moved" and event["device"].startswith("cuda"):
                yield from (frame for frame in event["frames"] if is_own(frame["path"]))


def _moved_late(source: Source) -> Iterator[Change]:
    """``model.to(device)`` behind what is made from the model: before it, what is made sees the model where it stays.

    ``opt = make_opt(model)`` may read the parameters anywhere, so that nothing but the order of the lines is looked at.
    ``opt.load_state_dict(state)`` brings what it loads to where the parameters are.
    """
    for node in ast.walk(source.tree):
        receiver = moved(node.value) if isinstance(node, (ast.Expr, ast.Assign)) else None
        root = receiver.value if isinstance(receiver, ast.Attribute) else receiver
        if receiver is None or not isinstance(root, ast.Name) or not isinstance(node, (ast.Expr, ast.Assign)):
            continue
        block = source.block_of(node)
        before = block[: block.index(node)]
        made = max((place for place, each in enumerate(before) if _binds(each, root.id)), default=-1)
        loads = [each for each in before[made + 1 :] if _loads(source, each, receiver)]
        for each in before[made + 1 :]:
            if _is_made_from(each, receiver) or each in loads:
                line = source.segment(node)
                text = message("move `{statement}` before `{place}`", statement=line, place=source.segment(each))
                edits = (source.insert_before(each, source.lines_of(node)), source.remove(node))
                yield Change(text, "statement_order", edits, doubt=_LOADED if loads else _EARLIER)
                break


def _is_made_from(statement: ast.stmt, receiver: ast.expr) -> bool:
    made = (
        isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and isinstance(receiver, ast.Name)
    )
    return made and _is_passed(statement.value, receiver.id)  # type: ignore[attr-defined]


def _loads(source: Source, statement: ast.stmt, receiver: ast.expr) -> bool:
    """Whether something loads its state, other than ``receiver`` itself: a model takes its own with it."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr == "load_state_dict" and source.segment(call.func.value) != source.segment(receiver)


def _binds(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    stored = (
        each for target in targets for each in ast.walk(target) if isinstance(getattr(each, "ctx", None), ast.Store)
    )
    return any(isinstance(each, ast.Name) and each.id == name for each in stored)


def _read_in(statement: ast.stmt) -> set[str]:
    loaded = (each for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return {each.id for each in loaded}


def _is_passed(call: ast.Call, name: str) -> bool:
    given = [*call.args, *(each.value for each in call.keywords)]
    return any(isinstance(node, ast.Name) and node.id == name for each in given for node in ast.walk(each))


def _ordered(source: Source, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Change]:
    """What placed the one operand stands before what placed the other, in one block: the second goes first."""
    early, late = source.expression_at(first), source.expression_at(second)
    if early is None or late is None:
        return
    other = source.statement_around(late)
    block = source.block_of(other)
    one = _in_block(source, early, block) or _calls(block, str(first["function"]).rpartition(".")[2])
    if one is None or block.index(one) >= block.index(other) or isinstance(other, (ast.Return, ast.For, ast.While)):
        return
    between = block[block.index(one) : block.index(other)]
    earlier, later = source.lines_of(one), source.lines_of(other)
    if not any(_binds(each, name) for name in _read_in(other) for each in between):
        text = message("move `{statement}` before `{place}`", statement=later[0], place=earlier[0])
        yield Change(text, "statement_order", (source.insert_before(one, later), source.remove(other)), doubt=_DOUBT)
    elif _read_in(one) & _read_in(other) and not any(
        _binds(one, name) for each in (*between[1:], other) for name in _read_in(each)
    ):
        text = message("move `{statement}` after `{place}`", statement=earlier[0], place=later[0])
        yield Change(text, "statement_order", (source.insert_after(other, earlier), source.remove(one)), doubt=_DOUBT)


def _in_block(source: Source, node: ast.AST, block: list[ast.stmt]) -> ast.stmt | None:
    """The statement of ``block`` that ``node`` is in: ``if resume: load()`` stands before ``model.to(device)``."""
    while node not in block:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return None
        node = source.parents[node]
    return node if isinstance(node, ast.stmt) else None


def _calls(block: list[ast.stmt], function: str) -> ast.stmt | None:
    """The first statement that calls ``function``: of what was loaded it is not known who asked for it."""
    calls = (each for each in block if any(isinstance(node, ast.Call) and function_name(node) == function
                                           for node in ast.walk(each)))  # fmt: skip
    return next(calls, None)


def _moved_before(source: Source, frame: Mapping[str, Any], partner: Mapping[str, Any]) -> Iterator[Change]:
    """``model.to(device)`` in front of what is made from ``model.parameters()``, or from ``model``."""
    call = source.expression_at(frame)
    if not isinstance(call, ast.Call) or partner["device"] == "cpu":
        return
    statement = source.statement_around(call)
    for argument in [*call.args, *(each.value for each in call.keywords)]:
        module = _module(source, argument)
        if module is not None:
            name = source.segment(module)
            for device, doubt in devices(source, call, partner):
                if device != f"{name}.device":
                    text = message("move `{name}` to {device} before `{place}`", name=name, device=device.strip('"'),
                                   place=source.segment(statement).split("\n")[0])  # fmt: skip
                    line = f"{name}.to({device})"
                    edits = (source.insert_before(statement, [line]),)
                    yield Change(text, "statement_order", edits, doubt=_EARLIER + doubt)


def _module(source: Source, argument: ast.expr) -> ast.expr | None:
    """The module in ``model.parameters()``, and a name that is moved as modules are, or handed to what moves them."""
    if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute):
        return argument.func.value if argument.func.attr in _READ else None
    if isinstance(argument, (ast.Name, ast.Attribute)):
        receivers = [moved(each) for each in ast.walk(source.tree)]
        calls = [each for each in ast.walk(source.tree) if isinstance(each, ast.Call)]
        prepared = [given for each in calls if function_name(each) in _PREPARES for given in each.args]
        if source.segment(argument) in [source.segment(each) for each in (*receivers, *prepared) if each is not None]:
            return argument
    return None


def _state_follows(failure: Failure, source: Source) -> Iterator[Change]:
    """Behind each move of a module the state of its optimizer is loaded once more, which puts it beside the weights."""
    seen = [statement for frame in _moves_of_models(failure) if frame["path"] == source.path
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
    return Change(text, "statement_order", (source.insert_after(after, [line]),), doubt=_STATE)


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
    """The statement behind ``move`` that makes the optimizer in one call, and not in those that follow: ``if``."""
    once = _in_block(source, made, source.block_of(move)) if move.lineno < made.lineno else None
    if isinstance(once, ast.If):
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
