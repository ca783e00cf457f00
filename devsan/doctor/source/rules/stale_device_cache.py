"""DV113: a cached tensor is used on another device than the one it was created for.

What it does
    Finds tensors that the program caches (`if n not in self.cache`, `if cls.table is None`) under a key that does
    not include the device, where a later call on another GPU reads them.

Why is this bad
    The second GPU gets the tensor of the first one. The order of the calls decides which one fails.

Example
    def mask(n, device):
        if n not in cache:
            cache[n] = torch.ones(n, n, device=device).tril()
        return cache[n]

Use instead
    def mask(n, device):
        if (n, device) not in cache:
            cache[n, device] = torch.ones(n, n, device=device).tril()
        return cache[n, device]

Fix safety
    Not edited: every line that reads or fills the cache must use the new key.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import cannot_be_joined, in_words, meetings_by_tensor

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each cache."""
    for group in meetings_by_tensor(program, "cached"):
        first, tensor = group[0], group[0].offending.tensor
        other = program.source.shown(first.other.node)
        yield cannot_be_joined(
            CODE,
            message(
                "`{name}` caches a tensor that is {where} but is used with `{other}`, which is {there}",
                name=tensor.kept, where=in_words(tensor.where), other=other, there=in_words(first.other.tensor.where),
            ),
            program, group, message("cache it per device: make the device part of the key"), at=tensor.made,
        )  # fmt: skip
