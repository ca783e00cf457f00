"""The rules for a job that has not started: each looks at a case and yields findings, independently of the others."""

from collections.abc import Callable, Iterator

from devsan.diagnostics.detectors import checks_in
from devsan.doctor.case import Case
from devsan.doctor.findings import Finding

RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = checks_in(__name__, __path__)
