"""``devsan explain``."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence

from devsan.cli.command import Action, Parser, add_language
from devsan.cli.refusal import tell_refusal
from devsan.diagnosis import by_wording
from devsan.diagnostics.codes import Code, all_codes, find_code, named
from devsan.diagnostics.known_errors import known_error
from devsan.errors import EXIT_USAGE, UsageError, tell
from devsan.render.language import chosen, language_named
from devsan.render.terminal.text import wrapped

_LONGEST = 72
_WORD = re.compile(r"\w+")


class ExplainCommand:
    """Explain a code: the problem, an example, the cause and the fix.

    Without CODE, list all codes. CODE is a number or a name. ERROR is the sentence of an error, in any number of words:
    if it has one known cause, its page is shown, otherwise all of them are listed. Other words are looked for in the
    names and summaries of the codes.
    """

    name = "explain"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the optional code and the language."""
        parser = Parser(self, usage="devsan explain [--lang LANG] [CODE | ERROR]")
        parser.add_argument("code", metavar="CODE", nargs="*", help="DV101, single-device-assumption, or an error")
        add_language(parser)
        options = parser.read(words)
        options.lang = options.lang or chosen()
        text = " ".join(options.code).strip()
        if len(text.split()) > 1 or not text.isascii():
            return lambda: _explain(text, options.lang)
        if text and find_code(text) is None and (called := _called(text)):
            return lambda: _tell_of(called, options.lang)
        if text:
            page = named(text, options.lang).page(options.lang)
            return lambda: _show(page)
        return lambda: _list_all(list(all_codes().values()), options.lang)


def _explain(text: str, language: str) -> int:
    found = by_wording.codes_of(text)
    if len(found) == 1:
        return _show(found[0].page(language))
    if found:
        say = language_named(language)
        tell(say("this error has {count} known causes; devsan run or devsan explain CODE tells more",
                 count=str(len(found))))  # fmt: skip
        return _list_all(found, language)
    known = known_error(text)
    if known is not None:
        say = language_named(language)
        print("\n".join(wrapped(say(" ").join((say.text(known.told), say.text(known.rehearsal))), 0)))
        return 0
    called = _called(text)
    if called:
        return _tell_of(called, language)
    near = by_wording.nearest_page(text)
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    hint = f"devsan explain {near.code}" if near else None
    tell_refusal(UsageError("an error that DevSan explains", repr(shown), hint))
    return EXIT_USAGE


def _tell_of(codes: list[Code], language: str) -> int:
    return _show(codes[0].page(language)) if len(codes) == 1 else _list_all(codes, language)


def _called(text: str) -> list[Code]:
    """Returns the codes in whose name or summary each word of ``text`` starts a word; Chinese may occur anywhere."""
    wanted = text.lower().split()
    found = []
    for code in all_codes().values():
        said = f"{code.name} {' '.join(code.summary.values())}".lower()
        words = _WORD.findall(said)
        if all(any(word.startswith(each) for word in words) or _is_chinese_in(each, said) for each in wanted):
            found.append(code)
    return found


def _is_chinese_in(word: str, said: str) -> bool:
    """Whether ``word`` is of a language that writes no spaces between words, and stands in ``said``."""
    return not word.isascii() and word in said


def _list_all(codes: Sequence[Code], language: str) -> int:
    longest = max(len(code.name) for code in codes)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize  # a line each, for grep
    lines = []
    for code in codes:
        head = f"{code.code}  {code.name:<{longest}}  "
        for line in wrapped(code.summary[language].rstrip(".。"), len(head), width=columns):
            lines.append(head + line)
            head = " " * len(head)
    print("\n".join(lines))  # in one piece: a reader such as head may leave early
    return 0


def _show(page: str) -> int:
    if not sys.stdout.isatty():
        print(page, end="")
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    # Lines of prose that fill a wide window are hard to read.
    console.print(Markdown(page), width=min(console.width, 100))
    return 0
