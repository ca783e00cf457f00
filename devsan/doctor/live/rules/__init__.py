"""The rules for live models: each looks at a subject and yields findings, independently of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from devsan.diagnostics.detectors import checks_in
from devsan.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from devsan.doctor.live.subject import Subject

Rule = Callable[["Subject"], Iterator[Diagnostic]]

RULES: tuple[Rule, ...] = checks_in(__name__, __path__)
