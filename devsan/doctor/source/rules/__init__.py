"""The rules for source: what each does, why that is bad, an example, what to use instead, and how safe its edit is."""

from collections.abc import Callable, Iterator

from devsan.diagnostics.detectors import checks_in
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.source.program import Program

# ``edits`` is whether the mechanical fixes are wanted.
RULES: tuple[Callable[[Program, bool], Iterator[Diagnostic]], ...] = checks_in(__name__, __path__)
