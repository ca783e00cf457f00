"""``devsan top``."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence

from devsan.cli.command import Action, Parser, add_language
from devsan.cli.interruptible import interruptible
from devsan.errors import UsageError
from devsan.render.language import language_for
from devsan.render.terminal.printer import text_of
from devsan.render.terminal.stream import columns_of
from devsan.render.terminal.text import Line
from devsan.render.terminal.top import rehearsal_lines
from devsan.running.rehearsals import running

_EPILOG = """\
What devsan run, DEVSAN_OPTIONS, pytest --devsan-gpus and devsan.emulate() emulate for you on this machine is found,
each with all of its processes. Exit code: 0, also where nothing runs, and after Ctrl-C or SIGTERM; 2 for invalid
arguments."""

# Of xterm and all that follow it: another screen, without a cursor and with lines cut at its edge, and back; its
# corner; the rest of a line, and of the screen.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
_ROWS = 24  # of a terminal that does not know how many it has
_CORNER, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class TopCommand:
    """Show what runs on emulated GPUs now: memory by GPU and rank, steps, time.

    As nvidia-smi shows it on real ones: what each process holds of each GPU, until Ctrl-C.
    """

    name = "top"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the options."""
        parser = Parser(self, usage="devsan top [--interval SECONDS] [--once] [--json] [--lang LANG]", epilog=_EPILOG)
        parser.add_argument("--interval", metavar="SECONDS", type=_interval, default=1.0,
                            help="look again after this time (default: 1)")  # fmt: skip
        parser.add_argument("--once", action="store_true", help="look once; so it is where stdout is no terminal")
        parser.add_argument("--json", action="store_true", help="print a JSON list of what runs; sizes are in bytes")
        add_language(parser)
        asked = parser.read(words)
        if asked.json:
            return _print_json
        if asked.once or not _is_terminal():
            return lambda: _print_once(asked.lang)
        return lambda: _watch(asked.interval, asked.lang)


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise UsageError("0.1 to 3600 seconds", repr(text))
    return seconds


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _print_json() -> int:
    print(json.dumps([rehearsal.as_plain() for rehearsal in running()], indent=2))
    return 0


def _print_once(language: str) -> int:
    _write("".join(text_of(_lines(language), sys.stdout)))
    return 0


def _watch(interval: float, language: str) -> int:
    if not running():
        return _print_once(language)
    try:
        with interruptible():
            _write(_ENTER)
            while True:
                rows = os.get_terminal_size(sys.stdout.fileno()).lines or _ROWS
                lines = text_of(_lines(language), sys.stdout)
                shown = lines[: max(rows - 1, 1)]
                _write(_CORNER + "".join(line.replace("\n", f"{_REST_OF_LINE}\n") for line in shown) + _REST)
                time.sleep(interval)
    except KeyboardInterrupt:
        return 0
    finally:
        _write(_LEAVE)


def _lines(language: str) -> list[Line]:
    width, _ = columns_of(sys.stdout)
    return list(rehearsal_lines(running(), language_for(sys.stdout, language), width))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
