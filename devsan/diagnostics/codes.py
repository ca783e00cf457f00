"""The codes: a folder each, ``codes/<name>``, with a manifest and a page in each language.

The manifests are the only list of codes; core/diagnose reads them too (tools/generate_codes.py). A wheel carries the
folder inside of the package; an editable install reads it where the source tree has it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devsan.errors import DevsanError, UsageError
from devsan.spelling import nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = ("en", "zh")
UNDECIDED = "DV000"
OUT_OF_MEMORY = "DV501"
OF_RANKS_THAT_DIFFER = frozenset({"DV303", "DV304", "DV305", "DV306"})
"""Ranks that run different code or other models: which of them is meant, no change of a line can tell."""
OF_STREAMS = {"unordered": "unordered-streams", "freed": "freed-in-use", "pinned": "pinned-in-flight"}
"""What the check of streams finds, by what the core calls it: the names of codes."""


@dataclass(frozen=True)
class Code:
    """One code.

    Attributes:
        code: "DV106".
        name: "kv-cache", also that of its folder and of the files that detect it.
        summary: one sentence, by language.
        naive_fix: what a naive ``.to(device)`` at the failing line does instead, by language; may be empty.
        chinese: the Chinese of the sentences that its detectors alone say, by the English templates.
        words: its vocabulary, shared by all its detectors: what names of the user's program speak for it.
        wordings: parts of errors that it may cause, where neither a page's example nor the diagnosis has them.
    """

    code: str
    name: str
    summary: Mapping[str, str]
    naive_fix: Mapping[str, str]
    chinese: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]
    wordings: tuple[str, ...] = ()

    def page(self, language: str = "en") -> str:
        """Returns the whole page, Markdown.

        Raises:
            UsageError: no such language.
        """
        check_language(language)
        body = page_file(self, language).read_text(encoding="utf-8")
        return f"# {self.code} {self.name}\n\n{self.summary[language]}\n\n{body}"


def folder() -> Path:
    """Returns the folder of the codes.

    Raises:
        DevsanError: there is none; the installation is not complete.
    """
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "codes", package.parent / "codes"):
        if (candidate / "README.md").is_file():
            return candidate
    raise DevsanError(f"expected the pages of the codes in {package / 'codes'}, got no such folder")


def page_file(code: Code, language: str = "en") -> Path:
    """Returns the file of a page; it has no heading, which ``Code.page`` adds."""
    return folder() / code.name / ("page.md" if language == "en" else f"page.{language}.md")


@cache
def all_codes() -> Mapping[str, Code]:
    """Returns the codes by their numbers, in order.

    Raises:
        DevsanError: a manifest cannot be read, or two have the same number.
    """
    found: dict[str, Code] = {}
    for code in sorted(map(_read, folder().glob("*/manifest.toml")), key=lambda code: (code.code, code.name)):
        if code.code in found:
            raise DevsanError(f"expected {code.code} to be one code, got {found[code.code].name} and {code.name}")
        found[code.code] = code
    return found


def find_code(text: str) -> Code | None:
    """Returns the code with that number or name; None where there is none, as for DV000 or that of a newer DevSan."""
    known = all_codes()
    return known.get(text) or next((code for code in known.values() if code.name == text), None)


def name_of(code: str) -> str:
    """Returns the name of a code; "" where there is none."""
    found = all_codes().get(code)
    return found.name if found is not None else ""


def words_of(name: str) -> Mapping[str, tuple[str, ...]]:
    """Returns the vocabulary of the code with that name, by group."""
    code = find_code(name)
    assert code is not None and code.words, f"expected codes/{name}/manifest.toml to have words"
    return code.words


def named(text: str, language: str = "en") -> Code:
    """Returns the code that a user names by number, with or without DV, or by name, in any case.

    Raises:
        UsageError: no such code, or no such language.
    """
    check_language(language)
    if text.upper() == UNDECIDED:
        raise UsageError("one of the codes that the report names as candidates", "'DV000', which means undecided")
    found = find_code(text.upper()) or find_code(text.lower()) or find_code(f"DV{text}")
    if found is None:
        near = nearest(text, (*all_codes(), *(code.name for code in all_codes().values())))
        raise UsageError("a code that `devsan explain` lists", repr(text), near)
    return found


def check_language(language: str) -> None:
    """Raises UsageError if there are no pages in that language."""
    if language not in LANGUAGES:
        raise UsageError(f"a language ({', '.join(LANGUAGES)})", repr(language), nearest(language, LANGUAGES))


def _read(path: Path) -> Code:
    try:
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        words = {group: tuple(listed) for group, listed in manifest.get("words", {}).items()}
        said = manifest.get("chinese", {})
        wordings = tuple(manifest.get("wordings", ()))
        naive_fix = manifest.get("naive_fix", {})
        return Code(manifest["code"], path.parent.name, manifest["summary"], naive_fix, said, words, wordings)
    except (KeyError, ValueError) as error:
        raise DevsanError(f"expected {path} to be the manifest of a code, got {error!r}") from None
