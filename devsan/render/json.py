"""Runs as JSON: the documents of docs/reference/run.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import recorded


def render(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns one document, or an array of them where there are several runs."""
    documents = [recorded(run) for run in runs]
    return json.dumps(documents[0] if len(documents) == 1 else documents, indent=1, ensure_ascii=False) + "\n"
