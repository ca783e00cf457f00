"""Tensors that one device value places, where they meet what is elsewhere: an assumption, or a loss of two devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.doctor.findings import Finding
from devsan.doctor.source.events import Mapped
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.signs import came, first_of_each, in_words, meetings_of, places_of

_LOSSES = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "kl_div", "huber_loss", "smooth_l1_loss")


def value_meetings(program: Program, code: str, of_losses: bool) -> Iterator[Finding]:
    """Yields a finding for each tensor that one value places; those that first meet in a loss, or all others."""
    meetings = meetings_of(program, "value")
    spread = next((event.map for event in program.events if isinstance(event, Mapped) and event.map.spread), None)
    for first, group in first_of_each((event.odd.tensor.made or event.node, event) for event in meetings):
        if _is_loss(first.node) is not of_losses:
            continue
        source = program.source
        odd, other = source.shown(first.odd.node), source.shown(first.other.node)
        said = [came(program, first.odd.tensor), came(program, first.other.tensor)]
        joins = f"`{source.shown(first.node)}`, line {getattr(first.node, 'lineno', 0)}, joins the two"
        if spread is not None:
            said.append(f"the device map `{spread.text}`, line {getattr(spread.node, 'lineno', 0)}, spreads the model")
        yield Finding(
            code,
            f"`{odd}` is {in_words(first.odd.tensor.where)} and meets `{other}`, which is "
            f"{in_words(first.other.tensor.where)}",
            source.place(first.odd.tensor.made if first.odd.tensor.made is not None else first.node),
            tuple(each for each in (joins, *said) if each),
            f"move the smaller one to the other: `.to({other}.device)`" if of_losses
            else f"take the device from what it meets: `device={other}.device`",
            severity="error" if first.other.tensor.where.kind == "gpu" else "warning",
            confidence="certain" if first.other.tensor.where.kind == "gpu" else "likely",
            sites=places_of(program, group),
        )  # fmt: skip


def _is_loss(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _LOSSES or name.lower().endswith(("loss", "criterion", "loss_fct", "loss_fn"))
