"""DV108: a module keeps a tensor or a module that its own moves do not reach.

What it does
    Finds tensors that a constructor of a module creates and keeps as plain attributes, plain lists of layers, and
    global tensors that a method of a module uses, if the forward uses them with inputs or weights.

Why is this bad
    `Module.to`, `DataParallel`, `state_dict` and device maps handle only parameters, buffers and registered
    modules. Everything else stays where it was created.

Example
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(8)

Use instead
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(8), persistent=False)

Fix safety
    Safe if the attribute is assigned once, in the constructor, after `super().__init__()`: `persistent=False` keeps
    checkpoints unchanged. Other places are reported, but not edited.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import registered
from devsan.doctor.source.events import Meeting
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import (
    came,
    in_words,
    known,
    meetings_by_tensor,
    places_of,
    some,
    what_joins,
)

CODE = own_code(__name__)

_MOVERS = ("_apply", "to", "cuda")


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each attribute."""
    for group in meetings_by_tensor(program, "held"):
        first = group[0]
        source, tensor = program.source, first.offending.tensor
        if first.owner is not None and any(first.owner.method(name) for name in _MOVERS):
            continue  # it moves by itself what its base does not know
        statement = _assignment(program, first)
        shown = f"self.{tensor.plain}" if tensor.plain else source.shown(first.offending.node)
        other = source.shown(first.other.node)
        at = statement or tensor.made or first.node
        yield finding(
            CODE,
            message("`{name}` does not move with its module but is used with `{other}`", name=shown, other=other),
            source.place(at),
            known(
                what_joins(program, first),
                came(program, tensor),
                message("`{name}` is {where}", name=other, where=in_words(first.other.tensor.where)),
            ),
            message("keep the modules in an nn.ModuleList or nn.ModuleDict")
            if tensor.how == "weight" and tensor.plain
            else message('register it: `self.register_buffer("{name}", ..., persistent=False)`', name=tensor.plain)
            if tensor.plain
            else message("register it with the module that uses it: `register_buffer(..., persistent=False)`"),
            some(_edit(program, statement, tensor.plain) if edits and statement and tensor.how != "weight" else None),
            confidence="likely",
            sites=places_of(program, group),
        )  # fmt: skip


def _assignment(program: Program, meeting: Meeting) -> ast.Assign | None:
    """The one assignment of the attribute; None where there are several, or none is found."""
    name, found = meeting.offending.tensor.plain, []
    for node in ast.walk(program.source.tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        own = any(_is_own(target, name) for target in targets)
        if own and (meeting.owner is None or _in_class(program, node, meeting)):
            found.append(node)
    return found[0] if name and len(found) == 1 and isinstance(found[0], ast.Assign) else None


def _in_class(program: Program, node: ast.AST, meeting: Meeting) -> bool:
    owners = [] if meeting.owner is None else [meeting.owner.node, *(base.node for base in meeting.owner.bases)]
    return any(each in owners for each in program.source.parents(node))


def _is_own(target: ast.AST | None, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute) and target.attr == name and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )  # fmt: skip


def _edit(program: Program, statement: ast.Assign, name: str) -> Edit | None:
    function = program.source.function(statement)
    if function is None or function.name != "__init__" or len(statement.targets) != 1:
        return None
    if statement not in function.body:
        return None  # in a branch or loop: somebody may mean it otherwise
    before = function.body[: function.body.index(statement)]
    if not any(
        "super()" in program.source.shown(each) or "Module.__init__" in program.source.shown(each) for each in before
    ):
        return None
    owner = next((each for each in program.source.parents(function) if isinstance(each, ast.ClassDef)), None)
    module = owner is not None and _is_module(program, owner)
    return registered(program.source, statement, name) if module else None


def _is_module(program: Program, node: ast.ClassDef) -> bool:
    for event in program.events:
        owner = getattr(event, "owner", None)
        if owner is not None and any(each.node is node for each in (owner, *owner.bases)):
            return True
    return any("Module" in program.source.shown(base) for base in node.bases)
