"""Classes of the file: which are modules, what an instance holds, and ``super()``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from devsan.doctor.source import functions
from devsan.doctor.source.definitions import ClassFacts, ClassValue, Function, Member
from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.places import HOST
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import UNKNOWN, Const, Ref, Sequence, Table, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


_MODULE_NAMES = ("Module", "PreTrainedModel", "LightningModule")


def class_facts(node: ast.ClassDef, bases: list[Value], scope: Scope) -> ClassFacts:
    """Returns what is known of a class from its bases."""
    own: list[ClassFacts] = []
    foreign: list[str] = []
    for base in bases:
        if isinstance(base, ClassValue):
            for each in (base.facts, *base.facts.bases):
                if all(each.node is not known.node for known in own):
                    own.append(each)
            foreign.extend(base.facts.foreign)
        elif isinstance(base, Ref):
            foreign.append(base.name)
        else:
            foreign.append("?")
    module = any(facts.is_module for facts in own) or any(_is_module_name(name) for name in foreign)
    return ClassFacts(node.name, node, tuple(own), tuple(foreign), module, scope)


def _is_module_name(name: str) -> bool:
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn.") and name.count(".") >= 2 and not name.startswith("torch.nn.functional"):
        return last[:1].isupper() and last not in ("Parameter", "Buffer")
    return last.endswith(_MODULE_NAMES)


def instantiate(run: Interpreter, facts: ClassFacts, given: Arguments | None) -> Value:
    """Makes an instance of a class of the file."""
    made = Object(State(facts.name, facts, facts.is_module, where=HOST), run.regions)
    constructor = facts.method("__init__")
    values, named = (given.values, given.named) if given is not None else ([], {})
    if constructor is not None:
        owner, definition = constructor
        around = owner.scope.parent if isinstance(owner.scope, Scope) else None
        functions.follow(
            run, Function(definition, around, made, owner), values, named, given.node if given is not None else None
        )
    elif not facts.foreign:
        made.state.attributes.update(dict(zip(_fields(facts), values, strict=False)))
        made.state.attributes.update(named)
        _fill(run, made, facts)
        after = facts.method("__post_init__")
        if after is not None:
            around = after[0].scope.parent if isinstance(after[0].scope, Scope) else None
            functions.follow(run, Function(after[1], around, made, after[0]), [], {}, None)
    elif facts.is_module:
        made.state.uncertain = True
    return made


def fields(value: Value) -> Value:
    """Returns what ``dataclasses.fields`` gives: of each its name."""
    facts = value.facts if isinstance(value, ClassValue) else value.state.facts if isinstance(value, Object) else None
    if facts is None:
        return UNKNOWN
    return Sequence(
        tuple(Object(State("dataclasses.Field", attributes={"name": Const(name)})) for name in _fields(facts))
    )


def _fields(facts: ClassFacts) -> list[str]:
    return [each.target.id for owner in (*reversed(facts.bases), facts) for each in owner.node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip


def _fill(run: Interpreter, made: Object, facts: ClassFacts) -> None:
    """Gives a dataclass what its fields have by themselves: each instance its own list."""
    for owner in (facts, *facts.bases):
        for each in owner.node.body:
            if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
                continue
            if each.target.id in made.state.attributes or not isinstance(each.value, ast.Call):
                continue
            factory = next((keyword.value for keyword in each.value.keywords if keyword.arg == "default_factory"), None)
            default = next((keyword.value for keyword in each.value.keywords if keyword.arg == "default"), None)
            scope = owner.scope if isinstance(owner.scope, Scope) else Scope()
            if isinstance(factory, ast.Lambda):
                made.state.attributes[each.target.id] = run.value(factory.body, scope)
            elif isinstance(factory, ast.Name):
                made.state.attributes[each.target.id] = Sequence(()) if factory.id == "list" else Table(())
            elif default is not None:
                made.state.attributes[each.target.id] = run.value(default, scope)


def is_super(node: ast.expr) -> bool:
    """Returns whether an expression is ``super()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def of_super(run: Interpreter, name: str, scope: Scope) -> Value:
    """Returns what ``super().name`` is: a method of the next class of the file, or of a library."""
    instance = scope.read("self") if "self" in scope.names else UNKNOWN
    owner: Any = next((frame.owner for frame in reversed(run.frames) if frame.owner is not None), None)
    if owner is None or not isinstance(instance, Object):
        return UNKNOWN
    for base in owner.bases:
        for statement in base.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                around = base.scope.parent if isinstance(base.scope, Scope) else None
                return Function(statement, around, instance, base)
    return Member(instance, name) if name in ("to", "cuda", "forward", "__call__", "register_buffer") else UNKNOWN
