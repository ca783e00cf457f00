"""What the text of a placement says: the call that made or moved a tensor, and how it said the device.

Only the text of one expression is parsed, not its file: a stack is read long after it was captured.
"""

from __future__ import annotations

import ast
import functools
import linecache
from dataclasses import dataclass

from devsan import core
from devsan.diagnostics.torch_names import FACTORIES, FROM_DATA, LIKE, MODULE_MOVES, NEW
from devsan.introspect.source.parsing import parse, parse_expression
from devsan.introspect.source.sources import nodes_in
from devsan.introspect.source.syntax import function_around

_MOVES = MODULE_MOVES | {"type"}
_MAKERS = FACTORIES | FROM_DATA | LIKE | NEW | {"from_numpy", "normal", "complex", "Generator"}


@dataclass(frozen=True)
class Said:
    """How one statement placed a tensor.

    Attributes:
        call: the last word of what it called: "zeros", "to"; "" when that is not known.
        receiver: what a method was called on, as written.
        is_factory: whether it makes a tensor.
        device: the text that says the device; None when it says none.
        peer: whether the device is that of another tensor.
        discarded: whether the statement throws the result away.
    """

    call: str = ""
    receiver: str = ""
    is_factory: bool = False
    device: str | None = None
    peer: bool = False
    discarded: bool = False


def read(place: core.Frame) -> Said:
    """Returns what the expression at ``place`` (the core's Frame) says."""
    span = place.span
    return _read(place.file, span.line, span.column, span.end_line, span.end_column, place.source)


@functools.lru_cache(maxsize=1024)
def _read(file: str, line: int, column: int, end_line: int, end_column: int, source: str) -> Said:
    text = _text(file, line, column, end_line, end_column)
    node = _parsed(text) if text else None
    if node is None:
        node, text = _only_call(source), source
    if not isinstance(node, ast.Call):
        return Said()
    said = said_by(node, text)
    if not said.call:
        return said
    device = said.device
    peer = said.peer or (device is not None and _follows_tensor(device, file, line))
    return Said(said.call, said.receiver, said.is_factory, device, peer, _is_discarded(source, ast.unparse(node)))


def call_at(place: core.Frame) -> ast.Call | None:
    """Returns the syntax of the call at ``place`` (the core's Frame); None where there is none, or no columns."""
    span = place.span
    text = _text(place.file, span.line, span.column, span.end_line, span.end_column)
    node = (_parsed(text) if text else None) or _only_call(place.source)
    return node if isinstance(node, ast.Call) else None


def said_by(call: ast.Call, text: str = "") -> Said:
    """Returns how ``call`` says the device of its result.

    Args:
        call: the call.
        text: the source that it was parsed from, to quote as it is written.
    """

    def written(node: ast.AST) -> str:
        found = ast.get_source_segment(text, node) if text else None
        return " ".join((found or ast.unparse(node)).split())

    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    receiver = written(function.value) if isinstance(function, ast.Attribute) else ""
    keyword = next((word.value for word in call.keywords if word.arg == "device"), None)
    first = call.args[0] if call.args else None
    if name in _MAKERS:
        if keyword is None and name == "Generator":
            keyword = first
        if keyword is not None:
            return Said(name, receiver, True, written(keyword))
        like = written(first) if name in LIKE and first is not None else receiver if name in NEW else None
        return Said(name, receiver, True, None if like is None else f"{like}.device", like is not None)
    if name in _MOVES:
        if name == "cpu":
            return Said(name, receiver, device='"cpu"')
        target = keyword if keyword is not None else first
        if name == "cuda":
            return Said(name, receiver, device='"cuda"' if target is None else written(target))
        if target is None or _is_dtype(target):
            return Said(name, receiver)
        return Said(name, receiver, device=written(target))
    return Said(name, receiver, device=None if keyword is None else written(keyword))


def _is_dtype(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return text.endswith("dtype") or (text.startswith("torch.") and not text.startswith("torch.device"))


def _text(file: str, line: int, column: int, end_line: int, end_column: int) -> str:
    """The text of an expression in brackets, so that it may have several lines; "" when its columns are not known."""
    lines = linecache.getlines(file)[line - 1 : end_line]
    if not column or not end_column or len(lines) != end_line - line + 1:
        return ""
    lines[-1] = lines[-1][: end_column - 1]
    lines[0] = lines[0][column - 1 :]
    return "(" + "".join(lines) + "\n)"


def _parsed(text: str) -> ast.expr | None:
    try:
        return parse_expression(text)
    except (SyntaxError, ValueError):
        return None


def _only_call(source: str) -> ast.expr | None:
    """The outermost call of a statement: where Python tells no columns."""
    try:
        body = parse(source).body
    except (SyntaxError, ValueError):
        return None
    value = getattr(body[0], "value", None) if len(body) == 1 else None
    return value if isinstance(value, ast.Call) else None


def _is_discarded(source: str, call: str) -> bool:
    try:
        body = parse(source).body
    except (SyntaxError, ValueError):
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and ast.unparse(body[0].value) == call


def _follows_tensor(device: str, file: str, line: int) -> bool:
    """Whether ``device`` is a variable that was given a tensor's device: ``device = input_ids.device``."""
    if not device.isidentifier():
        return False
    value = assigned_before(file, line, device)
    if not isinstance(value, ast.Attribute) or value.attr != "device":
        return False
    holder = ast.unparse(value.value)
    return holder != "self" and not stands_for_many(holder)


def stands_for_many(holder: str) -> bool:
    """Returns whether the ``device`` of ``holder`` is by its name one value for many tensors: ``args``, ``model``."""
    return any(word in holder for word in _OF_MANY)


_OF_MANY = ("model", "args", "conf", "setting", "params", "next(", "trainer", "accelerator")


def assigned_before(file: str, line: int, name: str) -> ast.expr | None:
    """Returns the expression that the function around ``line`` of ``file`` gave to ``name`` last before it, or None."""
    tree = function_around(file, line)
    found: tuple[int, ast.expr] | None = None
    for node in nodes_in(tree, ast.Assign, ast.AnnAssign, ast.NamedExpr) if tree is not None else ():
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            targets = [node.target]
        named = any(isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) == name for target in targets)
        if named and node.lineno < line and node.value is not None and (found is None or found[0] < node.lineno):
            found = (node.lineno, node.value)
    return found[1] if found is not None else None
