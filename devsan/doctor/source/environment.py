"""os.environ: which variables a program reads and sets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.cuda.visible_devices import VARIABLE
from devsan.doctor.source.events import HidesGpus, Ranks
from devsan.doctor.source.objects import Object
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import UNKNOWN, Const, Ref, Sequence, Table, Value, is_known
from devsan.doctor.source.visible import UNSET, Visible

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_OF_A_RANK = ("LOCAL_RANK", "RANK", "WORLD_SIZE", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
_RANKISH = re.compile(r"rank|localid|procid|worker", re.IGNORECASE)


def call(run: Interpreter, name: str, given: Arguments, scope: Scope) -> Value:
    """``os.environ.name(...)`` and its like."""
    first = given.values[0] if given.values else UNKNOWN
    node = given.nodes[1] if len(given.nodes) > 1 else given.named_nodes.get("default")
    if name in ("os.environ.get", "os.getenv") and given.values:
        found = read(run, given.node, first)
        absent = is_known(first) and first == Const(VARIABLE) and run.process.visible == UNSET
        return (given.get("default", 1) or UNKNOWN) if absent and len(given.values) > 1 else found
    if name in ("os.environ.setdefault", "os.putenv") and len(given.values) > 1:
        if name == "os.putenv" or run.process.visible == UNSET:
            write(run, given.node, first, given.values[1], node, scope)
        elif first == Const(VARIABLE):
            run.tell(HidesGpus(given.node, run.functions, used=run.process.used, visible=run.process.visible))
        return read(run, given.node, first)
    if name in ("os.environ.pop", "os.unsetenv") and given.values:
        unset(run, given.node, first)
    if name == "os.environ.update":
        pairs = [(key, each, given.nodes[0]) for key, each in first.items] if isinstance(first, Table) else []
        pairs += [(key, each, given.named_nodes[key]) for key, each in given.named.items()]
        for key, value, at in pairs:
            write(run, given.node, Const(key), value, at, scope)
    return UNKNOWN


def read(run: Interpreter, node: ast.AST, name: Value) -> Value:
    """``os.environ[name]`` and its like."""
    if isinstance(name, Const) and name.value in _OF_A_RANK:
        run.tell(Ranks(node, run.functions, sign="rank"))
    known = name == Const(VARIABLE) and run.process.visible.text is not None
    return Const(run.process.visible.text) if known else UNKNOWN


def assign(run: Interpreter, target: ast.Subscript, name: Value, value: Value, scope: Scope) -> None:
    """``os.environ[name] = value``."""
    statement = run.source.statement(target)
    node = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    write(run, target, name, value, node, scope)


def write(run: Interpreter, node: ast.AST, name: Value, value: Value, said: ast.expr | None, scope: Scope) -> None:
    """A variable is set to ``value``, which ``said`` gives. After the first use of CUDA nothing asks for it."""
    if name != Const(VARIABLE):
        return
    if isinstance(value, Const) and is_known(value) and isinstance(value.value, str | int):
        visible = Visible(str(value.value), True)
    else:
        visible = Visible(None, _is_shared(run, said, scope) if said is not None else None)
    used = run.process.used
    run.tell(HidesGpus(node, run.functions, used=used, visible=visible))
    if used is None:
        run.process = replace(run.process, visible=visible)


def unset(run: Interpreter, node: ast.AST, name: Value) -> None:
    """``del os.environ[name]`` and its like: all GPUs are visible."""
    if name == Const(VARIABLE) and run.process.used is None:
        run.tell(HidesGpus(node, run.functions, used=None, visible=UNSET))
        run.process = replace(run.process, visible=UNSET)


def _is_shared(run: Interpreter, said: ast.expr, scope: Scope) -> bool | None:
    """Whether a value that is not known is the same in every rank: what the command line and the program itself say."""
    if _RANKISH.search(run.source.segment(said)):
        return False
    return True if all(_is_everywhere(run.value(each, scope)) for each in _leaves(run, said, scope)) else None


def _leaves(run: Interpreter, said: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """The names that an expression is made of; an option of the command line is the same everywhere."""
    waiting: list[ast.AST] = [said]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder = scope.read(node.value.id)
            if isinstance(holder, Object) and holder.state.type == "argparse.Namespace":
                continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
        waiting += ast.iter_child_nodes(node)


def _is_everywhere(value: Value) -> bool:
    if isinstance(value, Sequence):
        return value.items is not None and all(map(_is_everywhere, value.items))
    return is_known(value) or (isinstance(value, Ref) and value.name.startswith("builtins."))
