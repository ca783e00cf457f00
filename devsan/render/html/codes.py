"""The pages of the codes (codes/<name>/page.md) as HTML, in every language that has one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup

from devsan.diagnostics.codes import LANGUAGES, find_code, page_file

_ADDRESS = re.compile(r"(?<![<(`\w])(https?://[^\s<>)]+)")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADINGS = 1  # a page's own headings stand below those of the report


@dataclass(frozen=True)
class CodePage:
    """A page: its name, and by language its title and its text."""

    code: str
    name: str
    titles: dict[str, str]
    texts: dict[str, Markup]


def page_of(code: str) -> CodePage | None:
    """Returns the page of ``code``; None where there is none, as for DV000 or the code of a newer DevSan."""
    known = find_code(code)
    if known is None:
        return None
    texts = {language: _html(page_file(known, language).read_text(encoding="utf-8")) for language in LANGUAGES}
    return CodePage(code, known.name, dict(known.summary), texts)


def _html(text: str) -> Markup:
    """Markdown without HTML in it: what looks like HTML is shown as text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(_linked(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + _HEADINGS)}"
    return Markup(reader.renderer.render(tokens, reader.options, {}))


def _linked(text: str) -> str:
    """Bare addresses as links, outside of blocks of code."""
    parts: list[str] = []
    end = 0
    for block in _BLOCK.finditer(text):
        parts += [_ADDRESS.sub(r"<\1>", text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _ADDRESS.sub(r"<\1>", text[end:])])
