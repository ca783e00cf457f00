"""How many faults the doctor found, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from devsan.diagnostics.diagnostic import SEVERITIES, Diagnostic
from devsan.render.language import Language


def summary(findings: Sequence[Diagnostic], say: Language) -> str:
    """Returns "2 errors, 1 warning"."""
    counts = [(sum(finding.severity == severity for finding in findings), severity) for severity in SEVERITIES]
    said = [say(f"{{n}} {severity}{'s' if count > 1 else ''}", n=str(count)) for count, severity in counts if count]
    return say(", ").join(said) if said else say("nothing is wrong")
