"""What the doctor says, in the chosen language: the report's phrases, and a catalogue of the doctor's own."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TextIO

from devsan.doctor.windows import translations
from devsan.report.language import Language, chosen

_HERE = Path(__file__).parent
_CATALOGUES = (_HERE.parent / "report" / "chinese.json", _HERE / "chinese.json", _HERE / "source" / "chinese.json",
               _HERE / "live" / "chinese.json")  # fmt: skip


@cache
def speaks(name: str) -> Language:
    """Returns the language called "en" or "zh"."""
    if name != "zh":
        return Language()
    phrases: dict[str, str] = {}
    catalogue: dict[str, str] = {}
    for number, path in enumerate(_CATALOGUES):
        if not path.is_file():
            continue
        groups: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
        phrases.update(groups.pop("phrases", {}))
        if number:  # the report's own texts are about tensors
            catalogue.update({english: said for group in groups.values() for english, said in group.items()})
    catalogue |= translations()
    return Language(phrases, catalogue)


def speaks_on(stream: TextIO, name: str | None) -> Language:
    """Returns the language ``name``, or the chosen one; English where ``stream`` does not have its characters."""
    name = name or chosen()
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    return speaks(name if encoding.startswith(("utf", "gb")) else "en")
