"""The page's own words, in English and Chinese.

Both stand in the page; the style sheet shows those of the language that is chosen, so that the page reads without
JavaScript too.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

from devsan.render.language import language_named

LANGUAGES = {"en": "en", "zh": "zh-Hans"}
"""The languages of the page, each with its name in HTML's ``lang``."""

_CODE = re.compile("`([^`]+)`")
_FIELD = re.compile(r"\{(\w+)\}")


@cache
def _labels() -> dict[str, dict[str, str]]:
    text = (Path(__file__).parent / "labels.json").read_text(encoding="utf-8")
    labels: dict[str, dict[str, str]] = json.loads(text)
    return labels


def words(key: str, language: str, **values: object) -> Markup:
    """Returns the label ``key`` in one language as HTML; what stands for its fields is escaped unless it is Markup.

    Raises:
        KeyError: there is no such label, or a field of it has no value.
    """
    text = _labels()[key][language]
    return Markup(_FIELD.sub(lambda field: str(escape(values[field[1]])), str(escape(text))))


def both(key: str, **values: object) -> Markup:
    """Returns the label ``key`` in every language, each in an element of its own.

    Raises:
        KeyError: as ``words``.
    """
    texts = {language: words(key, language, **values) for language in LANGUAGES}
    if len(set(texts.values())) == 1:
        return texts["en"]
    spans = [f'<span lang="{LANGUAGES[language]}" class="{language}">{text}</span>' for language, text in texts.items()]
    return Markup("".join(spans))


def plain(key: str) -> str:
    """Returns the label ``key`` in every language as one text, for places that hold no elements, such as titles.

    Raises:
        KeyError: there is no such label.
    """
    return " / ".join(dict.fromkeys(_labels()[key][language] for language in LANGUAGES))


def said(*texts: str) -> Markup:
    """Returns the first sentence that is not empty; in Chinese the first of them that the terminal's report has so."""
    told = [text for text in texts if text] or [""]
    translated = ((text, language_named("zh").text(text)) for text in told)
    chinese = next((there for here, there in translated if there != here), told[0])
    if chinese == told[0]:
        return _with_code(told[0])
    return Markup(
        f'<span lang="en" class="en">{_with_code(told[0])}</span>'
        f'<span lang="{LANGUAGES["zh"]}" class="zh">{_with_code(chinese)}</span>'
    )


def _with_code(text: str) -> Markup:
    """What stands between two backquotes is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def has_label(key: str) -> bool:
    """Returns whether there is a label ``key``; a word of a newer document may have none."""
    return key in _labels()
