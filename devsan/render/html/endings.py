"""The sentence with which a run ended: as a rule the head of the page has told it, and it stands there alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.run_files.ranks import Shared, unfinished

MOST_AT_HEAD = 300
"""Characters of the message of a run without findings that stand at the head of the page."""


@dataclass(frozen=True)
class Told:
    """Where a sentence stands, as the id of an element, and what the message has before and behind it."""

    anchor: str
    before: str = ""
    behind: str = ""


def told_of(exception: Mapping[str, Any], found: Sequence[Shared], runs: Sequence[Mapping[str, Any]]) -> Told | None:
    """Returns where the head of the page tells the sentence of an exception; None where it does not."""
    message = str(exception["message"])
    for number, shared in enumerate(found, start=1):
        sentence = str(shared.finding["sentence"]).strip()
        if sentence and sentence in message:
            before, _, behind = message.partition(sentence)
            return Told(f"finding-{number}", before.strip(), behind.strip())
    others = [] if found else unfinished(runs)
    end = others[0]["end"] if others else None
    if end is not None and end["exception"] == exception and len(message) <= MOST_AT_HEAD:
        return Told("findings")
    return None
