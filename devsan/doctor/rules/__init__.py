"""The rules for a job that has not started: each looks at a case and yields findings, independently of the others."""

from collections.abc import Callable, Iterator

from devsan.diagnostics.detectors import checks_in
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.case import Case

RULES: tuple[Callable[[Case], Iterator[Diagnostic]], ...] = checks_in(__name__, __path__)
