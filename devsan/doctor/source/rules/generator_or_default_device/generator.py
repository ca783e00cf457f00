"""DV111: a random generator fills a tensor on another device.

What it does
    Finds factories with `generator=` whose generator is on the CPU and whose device is a GPU, or the reverse.

Why is this bad
    A `torch.Generator` belongs to one device; torch rejects any other.

Example
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(4, generator=generator, device="cuda")

Use instead
    generator = torch.Generator(device="cuda").manual_seed(0)
    noise = torch.randn(4, generator=generator, device="cuda")

Fix safety
    Shown, but not applied by default: a GPU generator gives other numbers than a CPU generator. If results must be
    the same everywhere, sample on the CPU and move the result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import with_argument
from devsan.doctor.source.events import Draws
from devsan.doctor.source.places import HOST
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, in_words, line_of, places_of, some

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each generator."""
    events = [event for event in program.events if isinstance(event, Draws)]
    for first, group in first_of_each((event.generator.made, event) for event in events):
        assert isinstance(first, Draws)
        source = program.source
        made = first.generator.made
        wanted = "cpu" if first.where == HOST else str(first.where)
        yield finding(
            CODE,
            message("the generator `{made}` is {where} but fills a tensor {there}", made=source.shown(made),
                    where=in_words(first.generator.where), there=in_words(first.where)),
            source.place(made),
            (message("`{call}`, line {line}, uses it", call=source.shown(first.node), line=line_of(first.node)),
             message("a generator can fill only tensors on its own device")),
            message('create it on that device: `torch.Generator(device="{device}")`; or sample on the CPU and move '
                    "the result", device=wanted),
            some(_edit(program, made, wanted) if edits else None),
            severity="error",
            confidence="certain",
            sites=places_of(program, group),
        )  # fmt: skip


def _edit(program: Program, made: ast.AST, wanted: str) -> Edit | None:
    if not isinstance(made, ast.Call) or made.args:
        return None
    return with_argument(program.source, made, "device", f'"{wanted}"', safe=False)
