"""A module moves before something is made from its parameters, or reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.scope import devices
from devsan.fix.source import Source, source_of

_DOUBT = 5
_LOADED = 6
_EARLIER = 9
_PREPARES = frozenset({"prepare", "prepare_model", "setup", "setup_module"})
"""Methods of accelerate and Fabric that move the modules which they are given."""

_OWN_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
               ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)  # fmt: skip

_READ = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers"})


def propose(failure: Failure) -> Iterator[Change]:
    """Yields statements in another order."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for first in placing_frames(operand):
            source = source_of(first["path"])
            if source is None or failure.is_live(first):
                continue
            of_models = failure.moves_of_models() if operand["kind"] == "optimizer_state" else ()
            for second in (*placing_frames(partner, "moved"), *of_models):
                if second["path"] == first["path"] and not failure.is_live(second):
                    yield from _ordered(source, first, second)
            yield from _moved_before(source, first, partner)
    for path in failure.own_paths if failure.is_mixed else ():
        source = source_of(path)
        if source is not None:
            yield from _moved_late(source)


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
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name == name
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return name in {(each.asname or each.name).partition(".")[0] for each in statement.names}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if not isinstance(node, _OWN_SCOPES):
            waiting += ast.iter_child_nodes(node)
    return False


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
    one = source.statement_in(early, block) or _calls(block, str(first["function"]).rpartition(".")[2])
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
