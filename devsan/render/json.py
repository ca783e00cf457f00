"""Runs, what ``devsan fix`` found, and sweeps as JSON: docs/reference/run.schema.json, fix and sweep likewise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from devsan.diagnostics.codec import plain_fix, to_plain
from devsan.diagnostics.diagnostic import Fix
from devsan.diagnostics.messages import recorded

if TYPE_CHECKING:
    from devsan.fix.result import FixResult
    from devsan.sweep.result import SweepResult

FIX_VERSION = 1
SWEEP_VERSION = 1


def render(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns one document, or an array of them where there are several runs."""
    documents = [recorded(run) for run in runs]
    return json.dumps(documents[0] if len(documents) == 1 else documents, indent=1, ensure_ascii=False) + "\n"


def render_fix(result: FixResult) -> str:
    """Returns the document of what came of looking for a fix."""
    return json.dumps(recorded(fix_document(result)), indent=1, ensure_ascii=False) + "\n"


def fix_document(result: FixResult) -> dict[str, Any]:
    """Returns the same as plain data, in which sentences are messages."""
    return {
        "format": "devsan-fix", "version": FIX_VERSION, **to_plain(result),
        "further": [{"place": place, "headline": headline} for place, headline in result.further],
        "fixes": [{**to_plain(fix), "edits": plain_fix(Fix("", edits=fix.edits))["edits"]} for fix in result.fixes],
    }  # fmt: skip


def render_sweep(result: SweepResult) -> str:
    """Returns the document of what a sweep came to."""
    document = {"format": "devsan-sweep", "version": SWEEP_VERSION, "counts": result.counts, **to_plain(result)}
    return json.dumps(recorded(document), indent=1, ensure_ascii=False) + "\n"
