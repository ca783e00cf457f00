"""What a module holds as a plain attribute becomes a part of it, so that it moves with the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.fix.calls import function_name, moved, own_attribute
from devsan.fix.change import TRAINS, Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.source import Source, source_of

_DOUBT = 4

# Of torch.nn.Module and ModuleDict, those that are words: torch refuses them as keys, and is not loaded here.
_MEMBERS = frozenset({
    "apply", "bfloat16", "buffers", "children", "clear", "compile", "cpu", "cuda", "double", "eval", "extra_repr",
    "float", "forward", "half", "items", "keys", "modules", "parameters", "pop", "state_dict", "to", "train",
    "training", "type", "update", "values",
})  # fmt: skip

_COLLECTIONS = ("list", "tuple", "dict", "set", "sorted")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the registration of each attribute that led to an operand."""
    for operand in sorted(failure.operands, key=lambda each: not each["offending"]):
        for frame in (*placing_frames(operand), *failure.own_frames[:1]):
            source = source_of(frame["path"])
            if source is not None:
                for statement in _assignments(source, frame, operand):
                    yield from _registered(source, statement, operand)
                for unpacked, name in _unpacked(source, frame, operand):
                    yield _registered_apart(source, unpacked, name)
    weights = [operand for operand in failure.operands if operand["kind"] == "parameter"]
    for path in failure.own_paths if weights and failure.finding["code"] == "DV108" else ():
        source = source_of(path)
        if source is not None:  # a replica's frames are gone: nothing names the container that led to the weight
            for statement in _containers_of_modules(source):
                yield from _registered(source, statement, weights[0])


def _containers_of_modules(source: Source) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The ``self.name = {}`` of a module's constructor whose elements are called: ``self.name[key](x)``."""
    for each in ast.walk(source.tree):
        if (
            not isinstance(each, (ast.Assign, ast.AnnAssign))
            or not _attribute(each)
            or not _is_constructor(source, each)
        ):
            continue
        name = f"self.{_attribute(each)}"
        inside = source.class_around(each)
        calls = (node.func for node in ast.walk(inside) if isinstance(node, ast.Call)) if inside is not None else ()
        called = (source.segment(node.value) for node in calls if isinstance(node, ast.Subscript))
        if each.value is not None and _container(each.value) and name in called:
            yield each


def _assignments(
    source: Source, frame: Mapping[str, Any], operand: Mapping[str, Any]
) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The ``self.name = ...`` of a module's constructor around a frame, and those of an attribute by its name."""
    node = source.expression_at(frame)
    if node is None:
        node = source.named_at(frame["line"], operand["name"] or "")
    if node is None:
        return
    around = source.statement_around(node)
    if isinstance(around, (ast.Assign, ast.AnnAssign)) and _attribute(around) and _is_constructor(source, around):
        yield around
    inside = source.class_around(node)
    names = {(operand["name"] or "").partition("[")[0].removeprefix("self."), _filled(around)} - {""}
    for each in ast.walk(inside) if inside is not None else ():
        named = isinstance(each, (ast.Assign, ast.AnnAssign)) and _attribute(each) in names
        if named and _is_constructor(source, each):
            yield each  # type: ignore[misc]


def _unpacked(
    source: Source, frame: Mapping[str, Any], operand: Mapping[str, Any]
) -> Iterator[tuple[ast.Assign, ast.Attribute]]:
    """The ``self.a, self.b = ...`` of a module's constructor that gives an operand, and which of them it is."""
    node = source.expression_at(frame)
    inside = source.class_around(node) if node is not None else None
    wanted = (operand["name"] or "").partition("[")[0].removeprefix("self.")
    for each in ast.walk(inside) if inside is not None and operand["kind"] != "parameter" else ():
        several = each.targets[0] if isinstance(each, ast.Assign) else None
        if isinstance(each, ast.Assign) and isinstance(several, ast.Tuple) and _is_constructor(source, each):
            yield from ((each, name) for name in several.elts
                        if isinstance(name, ast.Attribute) and own_attribute(name) == wanted)  # fmt: skip


def _registered_apart(source: Source, statement: ast.Assign, target: ast.Attribute) -> Change:
    """A variable takes the attribute's place among several, and is registered behind them."""
    name = _free(source, statement, target.attr)
    line = f'self.register_buffer("{target.attr}", {name}, persistent=False)'
    edits = (source.replace(target, name), source.insert_after(statement, [line]))
    return Change(_as_buffer(target.attr), "creation_site", edits, "DV108", _DOUBT)


def _free(source: Source, statement: ast.stmt, name: str) -> str:
    """A name that the function around ``statement`` does not use yet."""
    used = {getattr(each, "id", getattr(each, "arg", "")) for each in ast.walk(source.function_around(statement))}
    return name if name not in used else f"{name}_buffer"


def _filled(statement: ast.stmt) -> str:
    """The name in ``self.name.append(...)`` and ``self.name[key] = ...``; "" for another statement."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        fills = isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert", "update")
        return own_attribute(function.value) if fills else ""  # type: ignore[attr-defined]
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return own_attribute(target.value) if isinstance(target, ast.Subscript) else ""


def _attribute(statement: ast.AST) -> str:
    """The name in ``self.name = ...`` and ``self.name: Tensor = ...``; "" for another statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return own_attribute(targets[0]) if len(targets) == 1 else ""


def _is_constructor(source: Source, node: ast.AST) -> bool:
    """Whether ``node`` is in the constructor of a class that looks like a module."""
    inside = source.class_around(node)
    if inside is None or getattr(source.function_around(node), "name", "") not in ("__init__", "setup"):
        return False
    return any("Module" in source.segment(base) for base in inside.bases) or any(
        isinstance(each, ast.FunctionDef) and each.name == "forward" for each in inside.body
    )


def _registered(source: Source, statement: ast.Assign | ast.AnnAssign, operand: Mapping[str, Any]) -> Iterator[Change]:
    name, value = _attribute(statement), statement.value
    assert value is not None
    container = _container(value) or _container(_returned(source, value))
    if operand["kind"] == "parameter" or container:
        if container:
            text = message("hold the modules of `{name}` in a {container}", name=f"self.{name}", container=container)
            held = source.segment(value)
            after = f"{_networks(source)}.{container}({held if held not in ('[]', '{}') else ''})"
            yield Change(text, "creation_site", (source.replace(value, after),), "DV108", _DOUBT, alters=TRAINS)
        return
    made_by = function_name(moved(value) or value)
    of_module = any(event["op"].startswith("Module.") for event in operand["provenance"])
    if of_module or made_by in _COLLECTIONS or (made_by[:1].isupper() and "Tensor" not in made_by):
        return  # a module, several tensors, or another object
    made = source.segment(value)
    if isinstance(value, ast.Constant) and value.value is not None:
        return
    after = f'self.register_buffer("{name}", {made}, persistent=False)'
    yield Change(_as_buffer(name), "creation_site", (source.replace(statement, after),), "DV108", _DOUBT)


def _as_buffer(name: str) -> Message:
    return message("register `{name}` as a buffer, so that it moves with the module", name=f"self.{name}")


def _returned(source: Source, value: ast.expr) -> ast.expr | None:
    """What the function of the file that ``value`` calls gives back, where it says that once: ``make_metrics()``."""
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    functions = (each for each in ast.walk(source.tree) if isinstance(each, ast.FunctionDef) and each.name == name)
    returns = [each.value for function in functions for each in ast.walk(function) if isinstance(each, ast.Return)]
    return returns[0] if len(returns) == 1 else None


def _container(value: ast.expr | None) -> str:
    """The class of torch that holds modules as ``value`` does; "" where a key is a name that nn.ModuleDict refuses."""
    if isinstance(value, ast.Dict) and any(_is_refused(key) for key in value.keys):
        return ""
    if isinstance(value, (ast.List, ast.ListComp)):
        return "ModuleList"
    return "ModuleDict" if isinstance(value, (ast.Dict, ast.DictComp)) else ""


def _is_refused(key: ast.expr | None) -> bool:
    """Whether it names a member of nn.ModuleDict, as "train" does, or has a dot (Module.add_module)."""
    name = key.value if isinstance(key, ast.Constant) else None
    return isinstance(name, str) and (name in _MEMBERS or "." in name or not name)


def _networks(source: Source) -> str:
    """How the file calls torch.nn."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            for each in node.names:
                if each.name == "nn":
                    return each.asname or "nn"
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name == "torch.nn" and each.asname:
                    return each.asname
    return "torch.nn"
