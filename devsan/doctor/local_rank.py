"""An argument for the local rank that a script chooses its device by, where nothing but the command line gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.chosen_device import chooses
from devsan.doctor.script_place import place_of

_NAME, _VARIABLE = "local_rank", "LOCAL_RANK"
_KNOWN = ("vars", "print", "repr", "str")  # calls that change nothing of what they are given


@dataclass(frozen=True)
class LocalRank:
    """The argument.

    Attributes:
        default: its value where the launcher does not give it.
        place: where the parser gets it.
        use: where a device is chosen by it.
    """

    default: int
    place: Place
    use: Place


def read_local_rank(tree: ast.Module, file: str) -> LocalRank | None:
    """Returns the argument; None where there is none, or where the script may give it its value in another way."""
    added = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _adds(node)]
    default = _default(added[0]) if len(added) == 1 else None
    if default is None:
        return None
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    parsed = set(_parsed(tree))
    if any(_may_set(node, parsed, own) for node in ast.walk(tree)):
        return None
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.keyword))
    use = next((node for node in nodes if chooses(node, _is_it)), None)
    if use is None:
        return None
    return LocalRank(default, place_of(added[0], file), place_of(use, file))


def _adds(node: ast.Call) -> bool:
    return getattr(node.func, "attr", "") == "add_argument" and any(
        isinstance(each, ast.Constant) and str(each.value).lstrip("-").replace("-", "_") == _NAME for each in node.args
    )  # fmt: skip


def _default(node: ast.Call) -> int | None:
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "default"), None)
    try:
        value = ast.literal_eval(given) if given is not None else None
    except ValueError:
        return None
    return value if type(value) is int else None


def _parsed(tree: ast.Module) -> Iterator[str]:
    """The names of what the parser gives, also as parameters: the same name is the same arguments in most scripts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == _NAME and isinstance(node.value, ast.Name):
            yield node.value.id


def _may_set(node: ast.AST, parsed: set[str], own: set[str]) -> bool:
    """Whether it reads the variable, changes the argument, or gives all arguments to what may change them."""
    if isinstance(node, ast.Constant):
        return node.value == _VARIABLE
    if isinstance(node, ast.Attribute):
        return node.attr == _NAME and (not isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name))
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "set_device":
        return not any(_is_it(each) for each in node.args)  # it chooses by something else
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") in (*own, *_KNOWN):
        return getattr(getattr(node, "func", None), "id", "") == "setattr"
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(isinstance(part, ast.Name) and part.id in parsed
               for each in given for part in [each.value if isinstance(each, ast.Starred) else each])  # fmt: skip


def _is_it(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == _NAME
