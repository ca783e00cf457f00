"""A page as a reader of one language sees it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """The text of a page by language, and its elements."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[tuple[str, str]] = []
        self._texts: list[tuple[str, str]] = []
        self.feed(html)

    VOID = frozenset({"meta", "link", "br", "path", "line", "img", "input"})
    INLINE = frozenset({"span", "b", "strong", "i", "code", "a", "small", "cite", "time", "em"})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._part(tag)
        if tag not in self.VOID:
            self._open.append((tag, str(dict(attrs).get("lang") or "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open and self._open[-1][0] == tag, f"</{tag}> closes {self._open[-1:]}"
            self._open.pop()
        self._part(tag)

    def _part(self, tag: str) -> None:
        """Words of two cells or paragraphs are two words."""
        if tag not in self.INLINE:
            self._texts.append(("", " "))

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self._open]
        if "script" not in tags and "style" not in tags:
            language = next((lang for tag, lang in reversed(self._open) if lang and tag != "html"), "")
            self._texts.append((language, data))

    def text(self, language: str = "en") -> str:
        """Returns what a reader of ``language`` sees, with single spaces and typewriter's signs."""
        other = {"en": "zh-Hans", "zh": "en"}[language]
        text = "".join(text for lang, text in self._texts if lang != other)
        return " ".join(text.replace("\N{EN DASH}", "-").replace("\N{MULTIPLICATION SIGN}", "x").split())
