"""DV110: an optimizer is created before its model moves.

What it does
    Finds `torch.optim.X(model.parameters())` that is followed by `model.to(...)` or `model.cuda()`.

Why is this bad
    Optimizers that create their state in the constructor (Adagrad, and many outside of torch) keep it on the CPU.
    Adam and SGD create it in the first step, so the order works by accident. It fails if a move replaces the
    parameters (DTensor, XLA, `torch.__future__.set_overwrite_module_params_on_conversion`): the optimizer then
    updates tensors that no model uses. The documentation of torch requires moving the model first.

Example
    optimizer = torch.optim.Adagrad(model.parameters())
    model.to("cuda")

Use instead
    model.to("cuda")
    optimizer = torch.optim.Adagrad(model.parameters())

Fix safety
    Not edited: the code between the two may need either order.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Move
from devsan.doctor.source.places import HOST
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, line_of, places_of

CODE = own_code(__name__)

# Those of torch.optim that make state in their constructor (torch/optim/adagrad.py).
_EAGER = ("Adagrad",)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each optimizer."""
    moves = [
        event for event in program.events
        if isinstance(event, Move) and event.optimizer is not None and event.where != HOST
    ]  # fmt: skip
    for first, group in first_of_each((event.optimizer or event.node, event) for event in moves):
        assert isinstance(first, Move) and first.optimizer is not None
        source = program.source
        built, call = source.shown(first.optimizer), source.shown(first.node)
        eager = any(name in built for name in _EAGER)
        yield finding(
            CODE,
            message("the optimizer is created before `{call}` moves its model", call=call),
            source.place(first.optimizer),
            (message("`{call}`, line {line}, is called after `{built}`", call=call, line=line_of(first.node),
                     built=built),
             message("this optimizer creates its state in its constructor: the state stays on the CPU") if eager else
             message("this optimizer creates its state in its first step, so this order works only by accident")),
            message("move the model first, then create the optimizer, then load its state"),
            severity="error" if eager else "note",
            confidence="certain" if eager else "possible",
            sites=places_of(program, group),
        )  # fmt: skip
