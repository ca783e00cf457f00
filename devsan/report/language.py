"""The language of what DevSan says: English, or Chinese by a catalog of templates.

A sentence is a ``Message``: its English template is its key in the catalog, and its arguments are names, devices,
numbers or messages themselves. What is no message is a name, torch's own sentence or source, and stays as it is, unless
the catalog has it word for word.

chinese.json is the catalog: "phrases" is what the report says around the sentences, "parts" are lists, sizes and the
like that messages have for arguments. Where Chinese and Latin would touch a space is put in. See
docs/decisions/0004-language-of-the-report.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from devsan import active_options
from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.messages import Message

VARIABLE = "DEVSAN_LANG"

_TOUCHING = re.compile(r"""[\u4e00-\u9fff][\w`"'*(\[]|[\w`"'*)\]][\u4e00-\u9fff]""", re.ASCII)
_CATALOG = Path(__file__).with_name("chinese.json")
_LIVE = Path(__file__).parents[1] / "doctor" / "live" / "chinese.json"
_SLOT = re.compile(r"\{(\w+)\}")


class Language:
    """Says templates and texts in one language.

    Args:
        phrases: templates of what is said around the texts; none for English.
        catalog: templates that texts are made from.
        templates: further ones, by which messages alone are said.
    """

    def __init__(
        self, phrases: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None,
        templates: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._phrases = phrases or {}
        self._catalog = catalog or {}
        self._templates = {**self._catalog, **(templates or {})}

    def __call__(self, template: str, **values: str) -> str:
        """Returns ``template`` with its slots filled."""
        known = self._phrases.get(template)
        return template.format(**values) if known is None else _filled(known, values)

    def text(self, text: str) -> str:
        """Returns a message in this language; another text as it is, unless the catalog has it word for word."""
        if isinstance(text, Message) and text.id:
            known = self._templates.get(text.id) or self._phrases.get(text.id)
            return text if known is None else _filled(known, {k: self._argument(v) for k, v in text.arguments.items()})
        return self._catalog.get(text, text)

    def _argument(self, held: str) -> str:
        """Returns what a message holds: what is no message itself is the same in every language."""
        return self.text(held) if isinstance(held, Message) and held.id else held


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Returns ``template`` with its slots filled, and a space where Chinese and Latin would touch."""
    text = ""
    for number, part in enumerate(_SLOT.split(template)):
        piece = values[part] if number % 2 else part
        if text and piece and _TOUCHING.fullmatch(text[-1] + piece[0]):
            text += " "
        text += piece
    return text


def language_named(name: str) -> Language:
    """Returns the language called "en" or "zh"."""
    if name != "zh":
        return Language()
    groups: dict[str, dict[str, str]] = json.loads(_CATALOG.read_text(encoding="utf-8"))
    phrases, parts = groups.pop("phrases"), groups.pop("parts", {})
    # Findings about live models are reported as failures are where ranks and run files have them.
    live: dict[str, dict[str, str]] = json.loads(_LIVE.read_text(encoding="utf-8"))
    groups |= {f"live {name}": group for name, group in live.items()}
    groups["naive fixes"] = {
        code.naive_fix["en"]: code.naive_fix["zh"] for code in all_codes().values() if code.naive_fix
    }
    return Language(phrases, {english: said for group in groups.values() for english, said in group.items()}, parts)


def language_for(stream: TextIO, name: str = "") -> Language:
    """Returns the language in which to write to ``stream``: ``name`` or the chosen one, if it has the characters."""
    language = name or chosen()
    if language != "en":
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
        if not encoding.startswith(("utf", "gb")):
            language = "en"
    return language_named(language)


def chosen() -> str:
    """Returns "zh" or "en": by the option, by DEVSAN_LANG, else by the locale, in gettext's order."""
    options = active_options.current()
    if options is not None and options.lang:
        return options.lang
    for variable in (VARIABLE, "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable, "").lower()
        if value:
            return "zh" if value.startswith("zh") else "en"
    return "en"
