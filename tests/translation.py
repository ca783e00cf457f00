"""What of a finding would stay English in a Chinese report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devsan.diagnostics.messages import Message
from devsan.report import language

GROUPS = json.loads(Path(language.__file__).with_name("chinese.json").read_text(encoding="utf-8"))
CATALOG = {english for group in GROUPS.values() for english in group}
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
