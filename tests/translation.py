"""What of a finding would stay English in a Chinese report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.catalog import chinese
from devsan.diagnostics.messages import Message

CATALOG = {*chinese().phrases, *chinese().templates}
PHRASE = re.compile(r"[A-Za-z]?[a-z]+(?: [a-z]+){2,}")  # three words: neither a name nor a piece of source


def left_in_english(finding: Any) -> list[str]:
    """Returns the sentences that are no messages, the templates without a translation, and phrases in slots."""
    sentences = [finding.title, *finding.evidence, *(fix.text for fix in finding.fixes)]
    return [
        left
        for sentence in sentences
        for left in ([] if getattr(sentence, "id", "") else [sentence]) + list(_left(sentence))
    ]


def _left(text: str) -> Iterator[str]:
    if not isinstance(text, Message) or not text.id:
        if PHRASE.fullmatch(text):
            yield text
        return
    if text.id not in CATALOG:
        yield text.id
    for argument in text.arguments.values():
        yield from _left(argument)
