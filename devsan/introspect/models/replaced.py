"""Where a registered tensor was put in the place of another one, by a statement outside of constructors.

``Module.to`` moves what a module has at that time. A tensor that is assigned later stays where it is.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.only_calls import program_files
from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.source.sources import functions_in, statements_of, tree_at

_PARAMETERS = ("parameters", "named_parameters")
_BUFFERS = ("buffers", "named_buffers")


def replaced_at(holder: Any, path: str, near: Spot, is_of_root: bool = False) -> core.Frame | None:
    """Returns the statement of the program that gives a module's tensor another one, the first of the only function
    that does, or None.

    Where none names it, that is one of a loop over the model's parameters, a call of ``load_state_dict`` with
    ``assign=True``, or one of a function that is given the model, as a callback is.

    Args:
        holder: the module.
        path: of its parameter or buffer in the model; of the model's own behind what the program calls the model.
        near: a spot in the file that is searched first.
        is_of_root: whether it is the model's own.
    """
    kinds = _kinds(holder)
    members = _PARAMETERS if path.rpartition(".")[2] in holder.__dict__.get("_parameters", {}) else _BUFFERS
    name = path.rpartition(".")[2]
    named: list[core.Frame] = []
    renamed: list[core.Frame] = []
    swaps: list[core.Frame] = []
    loads: list[core.Frame] = []
    for file, _ in program_files(near):
        whole = tree_at(file)
        for function, tree in [("<module>", whole), *functions_in(whole)] if whole is not None else ():
            weights, keys = set(_loop_variables(tree, members)), set(_loop_keys(tree, members))
            elements = set(_elements_of(tree, path.split(".")[:-2])) if not function.endswith("__init__") else set()
            for node in statements_of(tree):
                if _swaps(node, weights) or _sets(node, keys):
                    swaps.append(_place(file, function, node))
                elif _loads(node):
                    loads.append(_place(file, function, node))
                elif _gives(node, path, function, kinds) or _gives_to(node, name, elements):
                    named.append(_place(file, function, node))
                elif is_of_root and not function.endswith("__init__") and _gives_to(node, name, _arguments_of(tree)):
                    renamed.append(_place(file, function, node))
    if not named and len({(frame.file, frame.function) for frame in swaps}) == 1:
        return min(swaps, key=lambda frame: frame.span.line)  # the others put back what was there
    found = named or loads or renamed
    one = len({(frame.file, frame.function) for frame in found}) == 1  # the branches of one function
    return min(found, key=lambda frame: frame.span.line) if one and not swaps else None


def _kinds(holder: Any) -> set[str]:
    return {base.__name__ for base in type.__dict__["__mro__"].__get__(type(holder))}


def replaced_where_made(made: core.Frame, holder: Any, path: str) -> bool:
    """Returns whether the statement ``made``, in which a tensor was made, puts it in the place of a module's.

    Args:
        made: of the program.
        holder, path: as for ``replaced_at``.
    """
    kind, _, method = made.function.rpartition(".")
    if method == "__init__":
        return False
    try:
        statements = ast.parse(textwrap.dedent(made.source)).body
    except SyntaxError:
        return False
    name = path.rpartition(".")[2]
    targets = (target for statement in statements for target in _targets(statement))
    holders = [found for target in targets if (found := _holder(_without_data(target), name)) is not None]
    of_self = any(isinstance(each, ast.Name) and each.id == "self" for each in holders)
    return bool(holders) and (not of_self or kind.rpartition(".")[2] in _kinds(holder))


def _loops(function: ast.AST, members: Collection[str]) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yields the loops over these members of a model: which, and what each element is called, in its parts."""
    for node in statements_of(function):
        called = node.iter.func if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) else None
        if isinstance(node, ast.For) and isinstance(called, ast.Attribute) and called.attr in members:
            yield called.attr, list(getattr(node.target, "elts", [node.target]))


def _loop_variables(function: ast.AST, members: Collection[str]) -> Iterator[str]:
    """Yields what loops over these members of a model call each of them."""
    for _, parts in _loops(function, members):
        yield from (part.id for part in parts[-1:] if isinstance(part, ast.Name))


def _loop_keys(function: ast.AST, members: Collection[str]) -> Iterator[str]:
    """Yields what loops over the named ones call each name: ``name`` of ``for name, buffer in net.named_buffers()``."""
    for called, parts in _loops(function, members):
        named = len(parts) == 2 and called.startswith("named_")
        yield from (part.id for part in parts[:1] if named and isinstance(part, ast.Name))


def _sets(node: ast.AST, keys: set[str]) -> bool:
    """Whether ``node`` gives a module a tensor by such a name: ``setattr(average, name, buffer.clone())``."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "setattr":
        return len(call.args) == 3 and isinstance(call.args[1], ast.Name) and call.args[1].id in keys
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name):
        return False
    kept = target.value
    return target.slice.id in keys and isinstance(kept, ast.Attribute) and kept.attr in ("_buffers", "_parameters")


def _swaps(node: ast.AST, weights: set[str]) -> bool:
    """Whether ``node`` gives a parameter of such a loop the memory of another tensor: ``p.data = shadow[name]``."""
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Attribute)
        and target.attr == "data"
        and isinstance(target.value, ast.Name)
        and target.value.id in weights
        for target in node.targets
    )


def _gives(node: ast.AST, path: str, function: str, kinds: set[str]) -> bool:
    """Whether ``node`` assigns to the tensor at ``path`` or its data; of ``self`` in a method of the kinds alone."""
    module, _, name = path.rpartition(".")
    for target in _targets(node):
        holder = _holder(_without_data(target), name)
        if isinstance(holder, ast.Name) and holder.id == "self":
            kind, _, method = function.rpartition(".")
            return method != "__init__" and kind.rpartition(".")[2] in kinds
        if holder is not None:
            return _last_of(holder) == module.rpartition(".")[2]
    return False


def _gives_to(node: ast.AST, name: str, variables: Collection[str]) -> bool:
    """Whether ``node`` assigns to what ``name`` is of a model that one of ``variables`` holds."""
    holders = [_holder(_without_data(target), name) for target in _targets(node)]
    return any(isinstance(holder, ast.Name) and holder.id in variables for holder in holders)


def _arguments_of(function: ast.AST) -> set[str]:
    """What a function calls what it is given, but for its own object."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    given = function.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self"}


def _elements_of(function: ast.AST, container: Sequence[str]) -> Iterator[str]:
    """Yields what loops over a list of modules call its elements: ``shard`` of ``zip(self.shards, pieces)``."""
    for node in statements_of(function):
        if not isinstance(node, ast.For):
            continue
        lists, targets = [node.iter], [node.target]
        if isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Tuple):
            called = node.iter.func.id if isinstance(node.iter.func, ast.Name) else ""
            lists = node.iter.args if called in ("zip", "enumerate") else []
            targets = node.target.elts[1:] if called == "enumerate" else node.target.elts
        for held, target in zip(lists, targets, strict=False):
            words = ast.unparse(held).split(".") if isinstance(held, ast.Attribute) else []
            known = words[1:]  # behind `self`, or what the program calls the model
            if known and list(container[-len(known) :]) == known and isinstance(target, ast.Name):
                yield target.id


def _without_data(target: ast.expr) -> ast.expr:
    """The tensor whose ``data`` it is."""
    return target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What ``node`` assigns to, each of ``self.mean, self.std = ...`` alone."""
    waiting = list(node.targets) if isinstance(node, ast.Assign) else []
    while waiting:
        target = waiting.pop(0)
        if isinstance(target, (ast.Tuple, ast.List)):
            waiting += target.elts
        else:
            yield target


def _last_of(holder: ast.expr) -> str:
    """What a module is called where it stands: ``norm`` of ``model.norm``, ``0`` of ``layers[0]``."""
    if isinstance(holder, ast.Subscript) and isinstance(holder.slice, ast.Constant):
        return str(holder.slice.value)
    return str(getattr(holder, "attr", getattr(holder, "id", "")))


def _holder(target: ast.expr, name: str) -> ast.expr | None:
    """The module in ``module.name`` and in ``module._buffers["name"]``; None in anything else."""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == name:
        kept = target.value
        return kept.value if isinstance(kept, ast.Attribute) and kept.attr in ("_buffers", "_parameters") else None
    return target.value if isinstance(target, ast.Attribute) and target.attr == name else None


def _loads(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "load_state_dict"
        and any(
            each.arg == "assign" and isinstance(each.value, ast.Constant) and each.value.value is True
            for each in node.keywords
        )
    )


def _place(file: str, function: str, node: Any) -> core.Frame:
    return place_in(file, function, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
