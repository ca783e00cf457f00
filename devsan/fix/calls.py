"""The text of a call, changed: with another device, with one more keyword, without its move."""

from __future__ import annotations

import ast
from collections.abc import Collection

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.torch_names import FACTORIES, FROM_DATA, LIKE, MOVES, NEW
from devsan.fix.source import Source

_TAKE_DEVICE = FACTORIES | FROM_DATA | LIKE | NEW | {"Generator"}


def function_name(call: ast.expr) -> str:
    """Returns the last name of the function that is called: "zeros" of ``torch.zeros(2)``."""
    function = call.func if isinstance(call, ast.Call) else call
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Returns the value of a keyword of ``call``; None where it is not given."""
    return next((each.value for each in call.keywords if each.arg == name), None)


def own_attribute(node: ast.AST) -> str:
    """Returns the name in ``self.name``; "" for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return ""


def without_keywords(source: Source, call: ast.Call, names: Collection[str]) -> Edit:
    """Returns the edit that leaves the keywords ``names`` out of ``call``."""
    kept = [source.segment(each) for each in call.args]
    for each in call.keywords:
        if each.arg not in names:
            value = source.segment(each.value)
            kept.append(f"{each.arg}={value}" if each.arg else f"**{value}")
    return source.replace(call, f"{source.segment(call.func)}({', '.join(kept)})")


def is_factory(node: ast.AST) -> bool:
    """Returns whether ``node`` calls a function of torch that takes a device."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKE_DEVICE


def writes_device_out(call: ast.Call) -> bool:
    """Returns whether ``call`` names its device as a constant: ``device="cuda:1"``, ``.to(1)``, ``.cuda()``."""
    given = keyword(call, "device")
    if given is None and moved(call) is not None:
        given = call.args[0] if call.args else None
        return given is None or isinstance(given, ast.Constant)
    return isinstance(given, ast.Constant)


def moved(node: ast.AST | None) -> ast.expr | None:
    """Returns what ``node`` moves, as far as its name says: ``x`` of ``x.cuda()``; None where it is no such call."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVES:
        return node.func.value
    return None


def placed(source: Source, call: ast.Call, device: str) -> str:
    """Returns the text of ``call`` with ``device`` as its device: its own argument, or a move behind it."""
    given = keyword(call, "device")
    if given is not None:
        return with_value(source, call, given, device)
    receiver = moved(call)
    if receiver is not None:
        if function_name(call) == "to" and call.args and not _is_dtype(source, call.args[0]):
            return with_value(source, call, call.args[0], device)
        if len(call.args) <= 1 and function_name(call) != "to":
            given_too = "".join(f", {each.arg}={source.segment(each.value)}" for each in call.keywords)
            return f"{source.segment(receiver)}.to({device}{given_too})"
    if is_factory(call) or _calls_for_device(source, call):
        return with_keyword(source, call, "device", device)
    return f"{source.segment(call)}.to({device})"


def _calls_for_device(source: Source, call: ast.Call) -> bool:
    """Whether ``call`` leaves out the ``device`` that a function or class of the same file would take."""
    name = function_name(call)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            made = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        else:
            made = [node] if isinstance(node, ast.FunctionDef) and node.name == name else []
        for function in made:
            if "device" in [each.arg for each in function.args.kwonlyargs]:
                return True
            positional = [each.arg for each in function.args.args]
            if "device" in positional and not any(isinstance(each, ast.Starred) for each in call.args):
                return positional.index("device") - (positional[0] == "self") >= len(call.args)
    return False


def with_keyword(source: Source, call: ast.Call, name: str, value: str) -> str:
    """Returns the text of ``call`` with a keyword, in the place of the one of that name or behind all others."""
    given = keyword(call, name)
    if given is not None:
        return with_value(source, call, given, value)
    text = source.segment(call)
    inside = text[:-1].rstrip()
    between = "" if inside.endswith("(") else " " if inside.endswith(",") else ", "
    return f"{inside}{between}{name}={value}{text[len(inside) :]}"


def with_value(source: Source, outer: ast.expr, inner: ast.expr, after: str) -> str:
    """Returns the text of ``outer`` with ``after`` in the place of ``inner``, a part of it."""
    text = source.segment(outer)
    line, column, _, _ = source.span(outer)
    its_line, its_column, _, _ = source.span(inner)
    before = sum(len(each) + 1 for each in text.split("\n")[: its_line - line])
    offset = before + its_column - 1 - (column - 1 if its_line == line else 0)
    return text[:offset] + after + text[offset + len(source.segment(inner)) :]


def _is_dtype(source: Source, node: ast.expr) -> bool:
    text = source.segment(node)
    return "dtype" in text or (text.startswith("torch.") and isinstance(node, ast.Attribute))


__all__ = ["function_name", "is_factory", "keyword", "moved", "placed", "with_keyword", "with_value"]
