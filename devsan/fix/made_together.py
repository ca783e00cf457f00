"""What is made or moved beside a call, and goes to a device together with it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from devsan.diagnostics.messages import Message, message
from devsan.fix.calls import function_name, is_factory, keyword, moved
from devsan.fix.source import Source


def together(source: Source, node: ast.Call, device: str) -> Iterator[tuple[Message, list[ast.Call], int]]:
    """Yields what may go to ``device`` together with ``node``: what is done in words, the calls, the doubt on top."""
    around = source.parents.get(node)
    moves = _moves_beside(source, node)
    if len(moves) > 1:
        names = ", ".join(_moved_name(source, each) for each in moves)
        yield message("put `{name}` on {device} where they are moved", name=names, device=device), moves, -1
    arguments = _arguments_beside(source, node)
    if len(arguments) > 1:
        text = message("make the tensors that `{function}` is given on {device}", device=device,
                       function=function_name(around))  # type: ignore[arg-type]  # fmt: skip
        yield text, arguments, -1
    factories = _factories_beside(source, node)
    if len(factories) > 1:
        text = message("make the tensors of `{function}` on {device}", device=device,
                       function=getattr(source.function_around(node), "name", "<module>"))  # fmt: skip
        yield text, factories, 1


def _moves_beside(source: Source, node: ast.Call) -> list[ast.Call]:
    """All moves to one place beside the move ``node``: in one display, ``(x.cuda(), y.cuda())``; what statements make
    and move one after the other, ``h = zeros(n).cuda()`` and ``c = zeros(n).cuda()``."""
    around = source.parents.get(node)
    elements = around.values if isinstance(around, ast.Dict) else getattr(around, "elts", [])
    if isinstance(around, ast.Assign):
        elements = _made_one_after_the_other(source, around)
    receiver = moved(node)
    where = source.segment(node)[len(source.segment(receiver)) :] if receiver is not None else ""
    found = [each for each in elements if isinstance(each, ast.Call) and moved(each) is not None and where
             and source.segment(each).endswith(where)]  # fmt: skip
    return found if node in found else []


def _made_one_after_the_other(source: Source, statement: ast.Assign) -> list[ast.expr]:
    """The values of the assignments around ``statement``, without another statement between them, that make tensors."""
    runs = (list(run) for makes, run in itertools.groupby(source.block_of(statement), _makes) if makes)
    return [each.value for run in runs if statement in run for each in run if isinstance(each, ast.Assign)]


def _makes(statement: ast.stmt) -> bool:
    made = moved(statement.value) if isinstance(statement, ast.Assign) else None
    return isinstance(made, ast.Call) and is_factory(made)


def _moved_name(source: Source, move: ast.Call) -> str:
    """What a statement gives a name to, or else what is moved."""
    statement = source.parents.get(move)
    named = statement.targets[0] if isinstance(statement, ast.Assign) else moved(move)
    return source.segment(named) if named is not None else ""


def _arguments_beside(source: Source, node: ast.Call) -> list[ast.Call]:
    """All factories without a device among the arguments of the call that ``node`` is an argument of.

    What is built of several tensors, such as a distribution, needs them on one device.
    """
    around = source.parents.get(node)
    if not isinstance(around, ast.Call) or not is_factory(node):
        return []
    return [each for each in around.args if isinstance(each, ast.Call) and is_factory(each)
            and keyword(each, "device") is None]  # fmt: skip


def _factories_beside(source: Source, node: ast.Call) -> list[ast.Call]:
    """All factories in the function of ``node``, where it is one, that name the same device, or none as it does."""
    function = source.function_around(node)
    if not is_factory(node) or isinstance(function, ast.Module):
        return []
    told = _told(source, node)
    found = [
        each for each in ast.walk(function)
        if isinstance(each, ast.Call) and is_factory(each) and _told(source, each) == told
    ]  # fmt: skip
    inside = {inner for each in found for inner in ast.walk(each) if inner is not each}
    return [each for each in found if each not in inside] if node in found else []


def _told(source: Source, node: ast.Call) -> str:
    """What ``device=`` of a call says; "" without it."""
    told = keyword(node, "device")
    return source.segment(told) if told is not None else ""
