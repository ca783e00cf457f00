"""The language of what DevSan says: English, or Chinese by a catalog of templates.

A sentence is a ``Message``: its English template is its key in the catalog, and its arguments are names, devices,
numbers or messages themselves. What is no message is a name, torch's own sentence or source, and stays as it is, unless
the catalog has it word for word.

The catalogs are read by devsan/diagnostics/catalog.py. Where Chinese and Latin would touch a space is put in. See
docs/decisions/0004-language-of-the-report.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import TextIO

from devsan import active_options
from devsan.diagnostics import catalog as catalogs
from devsan.diagnostics.messages import Message

VARIABLE = "DEVSAN_LANG"

_TOUCHING = re.compile(r"""[\u4e00-\u9fff][\w`"'*(\[]|[\w`"'*)\]][\u4e00-\u9fff]""", re.ASCII)
_SLOT = re.compile(r"\{(\w+)\}")


class Language:
    """Says templates and texts in one language.

    Args:
        phrases: templates of what is said around the texts; none for English.
        catalog: templates that texts are made from.
    """

    def __init__(self, phrases: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None) -> None:
        self._phrases = phrases or {}
        self._catalog = catalog or {}

    def __call__(self, template: str, **values: str) -> str:
        """Returns ``template`` with its slots filled."""
        known = self._phrases.get(template)
        return template.format(**values) if known is None else _filled(known, values)

    def text(self, text: str) -> str:
        """Returns a message in this language; another text as it is, unless the catalog has it word for word."""
        if isinstance(text, Message) and text.id:
            known = self._catalog.get(text.id) or self._phrases.get(text.id)
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


@cache
def language_named(name: str) -> Language:
    """Returns the language called "en" or "zh"."""
    if name != "zh":
        return Language()
    chinese = catalogs.chinese()
    return Language(chinese.phrases, chinese.templates)


def language_for(stream: TextIO, name: str = "") -> Language:
    """Returns the language in which to write to ``stream``: ``name`` or the chosen one, if it has the characters."""
    language = name or chosen()
    if language != "en":
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
        if not encoding.startswith(("utf", "gb")):
            language = "en"
    return language_named(language)


def chosen() -> str:
    """Returns "zh" or "en": the one that is asked for, else that of the locale, in gettext's order."""
    return asked() or _of_variables("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG") or "en"


def asked() -> str:
    """Returns "zh" or "en", as the option or DEVSAN_LANG says it; "" where neither does."""
    options = active_options.current()
    return (options.lang if options is not None else "") or _of_variables(VARIABLE)


def _of_variables(*names: str) -> str:
    value = next(filter(None, map(os.environ.get, names)), "").lower()
    return value and ("zh" if value.startswith("zh") else "en")
