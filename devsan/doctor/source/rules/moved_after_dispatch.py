"""DV201: a model is moved after another owner has placed it.

What it does
    Finds `.to(...)` and `.cuda()` on a model, or a part of it, that `from_pretrained(device_map=...)`,
    `dispatch_model` or an offload has placed on several devices; on a model of `Accelerator.prepare`, to a numbered
    GPU; and a LightningModule that contains such a model, which the strategy of the Trainer will move.

Why is this bad
    A device map registers a hook on each module that moves the inputs to the original device of the weights. The
    move changes the device of the weights, but not that of the hooks.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    model.to("cuda")

Use instead
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")

Fix safety
    Safe if the move is a separate statement and moves to a GPU without changing types: it is removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import removed, replaced
from devsan.doctor.source.events import Hands, Move
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, line_of, places_of, some

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each move."""
    source = program.source
    moves = [event for event in program.events if isinstance(event, Move) and _breaks(event)]
    for first, group in first_of_each((event.node, event) for event in moves):
        assert isinstance(first, Move)
        yield finding(
            CODE,
            message("`{call}` moves a model that is already placed", call=source.shown(first.node)),
            source.place(first.node),
            (message("`Accelerator.prepare` has placed it") if first.map is None
             else message("the device map `{map}`, line {line}, has placed it",
                          map=first.map.text, line=line_of(first.map.node)),
             message("the hooks that move its inputs do not know about the move")),
            message("remove the move: only one owner should place the model"),
            some(_edit(program, first.node) if edits and first.map is not None else None),
            severity="error",
            sites=places_of(program, group),
        )  # fmt: skip
    handed = [event for event in program.events if isinstance(event, Hands)]
    for given, _ in first_of_each((event.node, event) for event in handed):
        assert isinstance(given, Hands)
        yield finding(
            CODE,
            message("the device map `{map}` places `self.{attribute}`, which Lightning's strategy will move",
                    map=given.map.text, attribute=given.attribute),
            source.place(given.node),
            (message("the Trainer moves the whole LightningModule to its GPU; the hooks of the device map do not know "
                     "about it"),),
            message("load the model without a device map, and let the Trainer place it"),
            severity="error",
        )  # fmt: skip


def _breaks(event: Move) -> bool:
    if event.where.kind not in ("gpu", "value"):
        return False
    if event.map is not None:
        return event.map.spread and event.map.sure
    return event.wrapped == "accelerate" and event.where.kind == "gpu" and event.where.index is not None


def _edit(program: Program, node: ast.AST) -> Edit | None:
    """Takes the move away, where it does nothing else."""
    source = program.source
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or len(node.args) + len(node.keywords) > 1
    ):
        return None
    statement = source.statement(node)
    holder = node.func.value
    if isinstance(statement, ast.Expr) and statement.value is node:
        return removed(source, statement)
    if isinstance(statement, ast.Assign) and statement.value is node and _is_same(statement.targets, holder):
        return removed(source, statement)
    # A call over the result: the text up to the dot stays, with its parentheses.
    text = source.segment(node.func).removesuffix(node.func.attr).rstrip().removesuffix(".")
    return replaced(source, node, text.rstrip()) if isinstance(holder, ast.Call) else None


def _is_same(targets: list[ast.expr], holder: ast.expr) -> bool:
    return len(targets) == 1 and ast.dump(targets[0]).replace("Store", "Load") == ast.dump(holder)
