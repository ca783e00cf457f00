"""Rehearsals that run out of an emulated GPU's memory."""

from __future__ import annotations

import re

from devsan.fix.outcome import Outcome

NO_LIMIT = 1 << 62
"""Of what a process of a rehearsal may map: tensors without numbers take none of it."""

_OUT_OF_MEMORY = re.compile(r"CUDA out of memory.* GPU (\d+) has")


def exhausted_gpu(outcome: Outcome, *beside: str) -> int | None:
    """Returns the ordinal of the GPU that had no room left, if that was how the program ended.

    Args:
        outcome: of the program.
        beside: texts that may say it, too, where neither a finding nor the error does.
    """
    texts = (*(str(finding["sentence"]) for finding in outcome.findings), outcome.error, *beside)
    found = next((match for text in texts if (match := _OUT_OF_MEMORY.search(text))), None)
    return None if found is None or outcome.ended else int(found[1])
