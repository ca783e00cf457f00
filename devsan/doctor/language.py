"""What the doctor says, in the chosen language: the report's phrases, and a catalog of the doctor's own."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TextIO

from devsan.doctor.known_issues import translations
from devsan.report.language import Language, chosen

_HERE = Path(__file__).parent
_OF_REPORTS = _HERE.parent / "report" / "chinese.json"
_OF_RULES = _HERE / "chinese.json"
_OF_OTHERS = (_HERE / "source" / "chinese.json", _HERE / "live" / "chinese.json")


@cache
def speaks(name: str) -> Language:
    """Returns the language called "en" or "zh"."""
    if name != "zh":
        return Language()
    phrases, _ = _read(_OF_REPORTS)  # its texts are about tensors
    own, templates = _read(_OF_RULES)
    phrases |= own
    catalog: dict[str, str] = {}
    for path in _OF_OTHERS:
        own, texts = _read(path)
        phrases |= own
        catalog |= texts
    return Language(phrases, catalog, templates | translations())


def _read(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Returns a catalog's phrases, and the templates of its other groups."""
    groups: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    phrases = groups.pop("phrases", {})
    return phrases, {english: said for group in groups.values() for english, said in group.items()}


def speaks_on(stream: TextIO, name: str | None) -> Language:
    """Returns the language ``name``, or the chosen one; English where ``stream`` does not have its characters."""
    name = name or chosen()
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    return speaks(name if encoding.startswith(("utf", "gb")) else "en")
