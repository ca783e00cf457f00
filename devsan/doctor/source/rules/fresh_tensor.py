"""DV102: a tensor is created on the CPU or on a hard-coded GPU, and used with tensors on the device of its module.

What it does
    Follows the forward of each module (and its other entry points, the functions that it calls, and the program
    itself), and finds factories without `device=` whose result is used with inputs or weights.

Why is this bad
    The default device is the CPU. The code works until the module is moved; then the operation on the two fails,
    often in a branch that only some data takes.

Example
    def forward(self, x):
        noise = torch.randn(x.shape)
        return x + noise

Use instead
    def forward(self, x):
        noise = torch.randn(x.shape, device=x.device)
        return x + noise

Fix safety
    Safe if the factory is in the function that has the input: values and types stay the same. A random factory uses
    the generator of its device, so it gives other numbers on a GPU: that edit is shown, but not applied by default.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.diagnostics.torch_names import FACTORIES, FROM_DATA
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import with_argument
from devsan.doctor.source.events import Meeting
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.asked_device import can_be_asked
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

_RANDOM = ("rand", "randn", "randint", "randperm")


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each factory."""
    for group in meetings_by_tensor(program, "fresh"):
        first = group[0]
        source, made = program.source, first.offending.tensor.made or first.node
        other = source.shown(first.other.node)
        device = _device(program, group)
        yield finding(
            CODE,
            message("`{made}` is created {where} but is used with `{other}`",
                    made=source.shown(made), where=in_words(first.offending.tensor.where), other=other),
            source.place(made),
            known(
                what_joins(program, first),
                message("`{name}` is {where}", name=other, where=in_words(first.other.tensor.where)),
                came(program, first.other.tensor),
            ),
            message("create it on the device where it is used: `device={device}`", device=device) if device
            else message("create it on the device of `{other}`: pass `device=`", other=other),
            some(_edit(program, made, device) if edits and device else None),
            severity="error" if first.owner is None else "warning",
            confidence="certain" if first.owner is None else "likely",
            sites=places_of(program, group),
        )  # fmt: skip


def _device(program: Program, group: list[Meeting]) -> str:
    """The expression that says the right device where the tensor is created; "" where there is none for certain."""
    for event in group:
        peers = event.offending.tensor.peers
        met = _name(event.other.node)
        if met in peers:
            return f"{met}.device"
        if len(peers) == 1 or (event.owner is not None and peers):
            return f"{peers[0]}.device"
        if can_be_asked(program.source, event.other.node, event.offending.tensor.made):
            return f"{met or program.source.shown(event.other.node)}.device"
    return ""


def _name(node: ast.AST) -> str:
    """The name that an operand is made of, through indices and comparisons: `x` of `x[:, 0]` and of `x > 0`."""
    while isinstance(node, ast.Subscript | ast.Compare):
        node = node.value if isinstance(node, ast.Subscript) else node.left
    return node.id if isinstance(node, ast.Name) else ""


def _edit(program: Program, made: ast.AST, device: str) -> Edit | None:
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return None
    name = made.func.attr
    if name not in FACTORIES | FROM_DATA or any(keyword.arg == "out" for keyword in made.keywords):
        return None
    drawn = name in _RANDOM
    return with_argument(program.source, made, "device", device, safe=not drawn)
