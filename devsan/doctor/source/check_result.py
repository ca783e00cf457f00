"""What was found in a set of files."""

from __future__ import annotations

from dataclasses import dataclass, field

from devsan.diagnostics.diagnostic import Diagnostic


@dataclass
class CheckResult:
    """What was found in the source.

    Attributes:
        findings: in the order of files and lines.
        notes: a sentence for each file that could not be checked.
        files: how many were checked.
    """

    findings: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0

    def add(self, other: CheckResult) -> None:
        """Takes over what was found elsewhere."""
        self.findings += other.findings
        self.notes += other.notes
        self.files += other.files
