"""The Chinese of what DevSan says: the catalogs of all parts, read once.

A part keeps its own beside its code, ``chinese.json``: groups of templates, by the English ones. "phrases" are what a
printer says around the sentences; the other groups are for the reader alone. A code's manifest has those of its own
detectors. What keeps both languages of a sentence side by side is a catalog, too: the naive fixes of the codes, the
doctor's known issues.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from devsan.diagnostics.codes import all_codes

_PACKAGE = Path(__file__).parents[1]
_BESIDE_ENGLISH = _PACKAGE / "doctor" / "known_issues.json"


@dataclass(frozen=True)
class Catalog:
    """Templates of one language, by the English ones.

    Attributes:
        phrases: what is said around sentences.
        templates: sentences and their parts.
    """

    phrases: Mapping[str, str]
    templates: Mapping[str, str]


def catalog_files() -> list[Path]:
    """Returns the catalogs of the parts, in order."""
    return sorted((*_PACKAGE.glob("*/chinese.json"), *_PACKAGE.glob("*/*/chinese.json")))


@cache
def chinese() -> Catalog:
    """Returns all that has its Chinese."""
    phrases: dict[str, str] = {}
    templates: dict[str, str] = {}
    for path in catalog_files():
        groups: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
        for name, group in groups.items():
            (phrases if name == "phrases" else templates).update(group)
    for code in all_codes().values():
        templates.update(code.chinese)
        templates.update(_both(code.naive_fix))
    templates.update(_both(json.loads(_BESIDE_ENGLISH.read_text(encoding="utf-8"))))
    return Catalog(phrases, templates)


def _both(value: Any) -> Iterator[tuple[str, str]]:
    """Yields the sentences that stand in both languages, ``{"en": ..., "zh": ...}``, at any depth."""
    if isinstance(value, Mapping):
        if set(value) == {"en", "zh"}:
            yield value["en"], value["zh"]
            return
        value = value.values()
    elif not isinstance(value, list):
        return
    for each in value:
        yield from _both(each)
