"""DV110: an optimizer is created before its model moves.

What it does
    Finds `torch.optim.X(model.parameters())` that is followed by `model.to(...)` or `model.cuda()`, without a
    `load_state_dict` of the optimizer behind it.

Why is this bad
    Optimizers that create their state in the constructor (Adagrad, and many outside of torch) keep it on the CPU, and
    so does a state that is loaded before the move.
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

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Move, StateLoaded
from devsan.doctor.source.places import HOST
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, line_of, places_of

CODE = own_code(__name__)

# Those of torch.optim that make state in their constructor (torch/optim/adagrad.py).
_EAGER = ("Adagrad",)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each optimizer."""
    moves: list[Move] = []
    loads: dict[ast.AST, ast.AST] = {}  # before the moves, by the optimizer's constructor
    for event in program.events:
        if isinstance(event, Move) and event.optimizer is not None and event.where != HOST:
            moves.append(event)
        elif isinstance(event, StateLoaded):  # which puts the state where the parameters are by now
            moves = [move for move in moves if move.optimizer is not event.optimizer]
            loads[event.optimizer] = event.node
    for first, group in first_of_each((event.optimizer or event.node, event) for event in moves):
        assert isinstance(first, Move) and first.optimizer is not None
        source = program.source
        built, call, load = source.shown(first.optimizer), source.shown(first.node), loads.get(first.optimizer)
        eager = any(name in built for name in _EAGER)
        if load is not None:
            why = message("`{call}`, line {line}, puts the state where the parameters are then: on the CPU",
                          call=source.shown(load), line=line_of(load))  # fmt: skip
        elif eager:
            why = message("this optimizer creates its state in its constructor: the state stays on the CPU")
        else:
            why = message("this optimizer creates its state in its first step, so this order works only by accident")
        yield finding(
            CODE,
            message("the optimizer is created before `{call}` moves its model", call=call) if load is None else
            message("the state of the optimizer is loaded before `{call}` moves its model", call=call),
            source.place(first.optimizer if load is None else load),
            (message("`{call}`, line {line}, is called after `{built}`", call=call, line=line_of(first.node),
                     built=source.shown(load or first.optimizer)), why),
            message("move the model first, then create the optimizer, then load its state"),
            severity="note" if load is None and not eager else "error",
            confidence="certain" if eager else "possible" if load is None else "likely",
            sites=places_of(program, group),
        )  # fmt: skip
