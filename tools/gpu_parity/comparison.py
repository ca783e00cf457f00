"""What two observations of the same rows have apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def differences(real: Mapping[str, Any], emulated: Mapping[str, Any]) -> tuple[list[str], int, str]:
    """A text for each row that was not observed alike, and a summary."""
    texts = [
        f"{title}\n  GPU:       {json.dumps(said)}\n  emulation: {json.dumps(emulated.get(title, 'not observed'))}"
        for title, said in real.items()
        if said != emulated.get(title, "not observed")
    ]
    return texts, len(texts), f"{len(real):,} rows, {len(texts)} differ"
