"""DV103: CPU data is used with GPU tensors, or the reverse, without being moved.

What it does
    Finds tensors that are certainly on the CPU and are used with tensors that the program has moved to a GPU; calls
    of `.to()` and `.cuda()` on a tensor whose result is discarded; `.numpy()` on a GPU tensor.

Why is this bad
    `Module.to` moves in place, but `Tensor.to` returns a copy. The operation on the two sides raises an error.

Example
    inputs = torch.randn(3, 4)
    inputs.to("cuda")
    model(inputs)

Use instead
    inputs = torch.randn(3, 4)
    inputs = inputs.to("cuda")
    model(inputs)

Fix safety
    Safe for a discarded result, unless the tensor requires a gradient: the copy is then not a leaf. `.cpu()` before
    `.numpy()` is safe. If a tensor was never moved, only the program knows where the move belongs: no edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import assigned, replaced
from devsan.doctor.source.events import Discarded, Meeting, ToNumpy
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import (
    came,
    first_of_each,
    how_they_meet,
    in_words,
    known,
    meetings_by_tensor,
    places_of,
    some,
    that_they_meet,
)

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each tensor that stayed behind."""
    dropped = {ast.dump(event.target) for event in program.events if isinstance(event, Discarded)}
    yield from _discarded(program, edits)
    yield from _never_moved(program, dropped)
    yield from _read_by_numpy(program, edits)


def _discarded(program: Program, edits: bool) -> Iterator[Diagnostic]:
    source = program.source
    events = [event for event in program.events if isinstance(event, Discarded)]
    for first, _ in first_of_each((event.node, event) for event in events):
        assert isinstance(first, Discarded)
        statement = source.statement(first.node)
        target, call = source.shown(first.target), source.shown(first.node)
        edit = None
        if edits and isinstance(statement, ast.Expr) and _is_read_later(program, statement, first.target):
            edit = assigned(source, statement, first.target, safe=not first.tensor.leaf)
        yield finding(
            CODE,
            message("the result of `{call}` is discarded", call=call),
            source.place(first.node),
            (message("`Tensor.to` and `Tensor.cuda` return a copy; only `Module.to` and `Module.cuda` move in place"),
             message("`{name}` stays {where}", name=target, where=in_words(first.tensor.where))),
            message("assign the result: `{name} = {call}`", name=target, call=call),
            some(edit),
            confidence="certain",
        )  # fmt: skip


def _is_read_later(program: Program, statement: ast.stmt, target: ast.expr) -> bool:
    """Whether a later line of the function, or of the file, reads what would be kept: otherwise it were lost again."""
    if isinstance(target, ast.Attribute):
        return True
    if not isinstance(target, ast.Name):
        return False
    around = program.source.function(statement) or program.source.tree
    return any(
        isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
        and node.lineno > (statement.end_lineno or statement.lineno)
        for node in ast.walk(around)
    )  # fmt: skip


def _never_moved(program: Program, dropped: set[str]) -> Iterator[Diagnostic]:
    source = program.source
    for group in meetings_by_tensor(program, "boundary"):
        first = group[0]
        if ast.dump(first.offending.node) in dropped:
            continue  # its move is what was thrown away
        yield finding(
            CODE,
            that_they_meet(program, first),
            source.place(first.offending.node),
            how_they_meet(program, first),
            message("move `{name}` once, before it is used: `.to({device})`",
                    name=source.shown(first.offending.node), device=_target(first)),
            severity="error" if first.other.tensor.where.kind == "gpu" else "warning",
            confidence="certain" if first.other.tensor.where.kind == "gpu" else "likely",
            sites=places_of(program, group),
        )  # fmt: skip


def _target(meeting: Meeting) -> str:
    where = meeting.other.tensor.where
    if where.kind == "gpu":
        return f'"{where}"'
    return where.text if where.kind == "value" and where.text.replace(".", "").isidentifier() else "..."


def _read_by_numpy(program: Program, edits: bool) -> Iterator[Diagnostic]:
    source = program.source
    events = [event for event in program.events if isinstance(event, ToNumpy)]
    for first, _ in first_of_each((event.node, event) for event in events):
        assert isinstance(first, ToNumpy)
        yield finding(
            CODE,
            message("`{call}` reads a tensor that is {where}",
                    call=source.shown(first.node), where=in_words(first.tensor.where)),
            source.place(first.node),
            known(came(program, first.tensor), message("NumPy cannot read GPU memory")),
            message("move it to the CPU first: `.cpu().numpy()`"),
            some(_through_the_cpu(program, first.node) if edits else None),
            severity="error",
            confidence="certain",
        )  # fmt: skip


def _through_the_cpu(program: Program, node: ast.AST) -> Edit | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    if node.func.attr != "numpy":
        return None
    # The text up to the name: with the parentheses that ast leaves out.
    return replaced(program.source, node, f"{program.source.segment(node.func).removesuffix('numpy')}cpu().numpy()")
