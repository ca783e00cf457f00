"""``devsan explain``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from devsan.cli.command import Action, Parser
from devsan.diagnostics.codes import Code, all_codes, check_language, named
from devsan.render.language import chosen
from devsan.render.terminal.text import wrapped


class ExplainCommand:
    """Explain a code: the problem, an example, the cause and the fix.

    Without CODE, list all codes. CODE is a number or a name.
    """

    name = "explain"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the optional code and the language."""
        parser = Parser(self, usage="devsan explain [--lang LANG] [CODE]")
        parser.add_argument("code", metavar="CODE", nargs="?", help="for example DV101, or single-device-assumption")
        parser.add_argument(
            "--lang", metavar="LANG", default=chosen(), help="en or zh (default: DEVSAN_LANG, or the locale)"
        )
        options = parser.read(words)
        if options.code is not None:
            page = named(options.code, options.lang).page(options.lang)
            return lambda: _show(page)
        check_language(options.lang)
        return lambda: _list_all(list(all_codes().values()), options.lang)


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
