"""The end of ``devsan run``: one line, and the exit code that findings make.

devsan: 4 GPUs, no findings, peak cuda:0 1.5 GiB, cuda:3 1.2 GiB, 12.3 s
devsan: to find and verify a fix, run: devsan fix --gpus 4 train.py
"""

from __future__ import annotations

import atexit
import os
import sys
import time

from devsan import fail_on
from devsan.cli.program import CommandLine
from devsan.cli.program_words import ProgramWords
from devsan.diagnostics.codes import OF_RANKS_THAT_DIFFER, OUT_OF_MEMORY
from devsan.errors import EXIT_USAGE, UsageError, tell
from devsan.options import NOT_OF_FIX, NOT_OF_PLAN, Options
from devsan.render.amounts import plain_amount, seconds
from devsan.render.language import Language, language_for
from devsan.render.terminal.text import WIDTH, display_width
from devsan.run_files import recording, tally
from devsan.run_files.ranks import sample_text
from devsan.run_files.tally import Tally
from devsan.sample_of_ranks import LAUNCHERS

_SHOWN = 2
"""GPUs whose peaks stand in the line. Of more of them it is the fullest one's; the others are shown with ``-v``."""


class Closing:
    """What is to be said, and with which code to exit, when the program has ended.

    Args:
        asked: for what the run was asked.
    """

    def __init__(self, asked: ProgramWords) -> None:
        self._asked = asked
        self._options = asked.options
        self._start = time.monotonic()
        self._pid = os.getpid()

    def at_exit(self) -> None:
        """Closes the run at the end of this process. What is registered later, all reports, comes before it."""
        atexit.register(self._exit)

    def finish(self, own: int) -> int:
        """Says what there is to say, and returns the exit code.

        Args:
            own: the exit code of the program.
        """
        options, result = self._options, tally.result()
        if options.ranks and result.sample is None and own == 0:
            tell(str(UsageError(f"a command that starts ranks by {LAUNCHERS}, with --ranks", "one that started none")))
            return EXIT_USAGE
        code = fail_on.exit_code(result.severities, options.fail_on, options.error_exitcode, own=own)
        if options.is_reported and not options.quiet and sys.stderr is not None:
            say = language_for(sys.stderr, options.lang)
            if own:
                lines = self._next(result, say)
            else:
                lines = _lines(self._parts(result, code, say), say(", "))
                lines += _details(options, result, say) if options.verbose else ()
            encoding = sys.stderr.encoding or "utf-8"
            text = "".join(f"{line}\n" for line in lines)
            print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=sys.stderr, flush=True)
        return code

    def _exit(self) -> None:
        own = recording.exit_code()
        if os.getpid() != self._pid or own is None:  # a fork; a program that nothing of ours saw the end of
            return
        code = self.finish(own)
        if code != own:  # Python's own exit code is settled by now, and nothing is left to be called
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _next(self, result: Tally, say: Language) -> list[str]:
        """What answers the errors of a program that failed."""
        options = self._options
        if not options.gpus or not result.codes or options.format != "terminal":
            return []
        if result.codes == {OUT_OF_MEMORY}:
            if isinstance(self._asked.program, CommandLine):  # which of these a plan takes, it says when it is asked
                return []
            told = say("to find what fits, run: {command}", command=self._asked.repeated("plan", NOT_OF_PLAN))
        elif options.full_size or result.codes <= OF_RANKS_THAT_DIFFER:  # no numbers to judge by, no change to judge
            return []
        else:
            told = say("to find and verify a fix, run: {command}", command=self._asked.repeated("fix", NOT_OF_FIX))
        return [f"devsan: {told}"]

    def _parts(self, result: Tally, code: int, say: Language) -> list[str]:
        parts = []
        if self._options.gpus:
            parts.append(_counted("1 GPU", "{count} GPUs", len(self._options.gpus), say))
        else:
            parts.append(say("real GPUs"))
        if result.sample is not None:
            parts.append(say.text(sample_text(result.sample.ranks, result.sample.world_size)))
        elif result.ranks:
            parts.append(_counted("1 rank", "{count} ranks", result.ranks, say))
        notes = result.severities["note"]
        found = sum(result.severities.values()) - notes
        parts.append(_counted("1 finding", "{count} findings", found, say) if found else say("no findings"))
        if notes:
            parts.append(_counted("1 note", "{count} notes", notes, say))
        parts.append(_peaks(result, say))
        fullest = max(result.hosts.values(), default=0)
        if fullest:
            parts.append(say("host {size} per rank", size=_size_of_host(result, fullest, say)))
        parts.append(seconds(time.monotonic() - self._start))
        if code:
            parts.append(say("exit code {code} because of the findings", code=str(code)))
        return parts


def _lines(parts: list[str], comma: str) -> list[str]:
    """One line, which is broken between its parts where a terminal would break it within a word."""
    lines = [f"devsan: {parts[0]}"]
    for part in parts[1:]:
        if display_width(lines[-1] + comma + part) < WIDTH:
            lines[-1] += comma + part
        else:
            lines[-1] += comma.rstrip()
            lines.append(f"  {part}")
    return lines


def _counted(one: str, many: str, count: int, say: Language) -> str:
    return say(one) if count == 1 else say(many, count=str(count))


def _peaks(result: Tally, say: Language) -> str:
    if not result.peaks:
        return say("no GPU memory used")
    fullest = sorted(result.peaks, key=lambda gpu: (-result.peaks[gpu][0], gpu))
    shown = sorted(result.peaks) if len(fullest) <= _SHOWN else fullest[:1]
    each = [f"cuda:{gpu} {_size(result, gpu, say)}" for gpu in shown]
    return say("peak {sizes}", sizes=say(", ").join(each))


def _size(result: Tally, gpu: int, say: Language) -> str:
    size = plain_amount(result.peaks[gpu][0])
    return say("at most {size}", size=size) if gpu in result.shared else size


def _size_of_host(result: Tally, fullest: int, say: Language) -> str:
    size = plain_amount(fullest)
    return size if len(set(result.hosts.values())) == 1 else say("at most {size}", size=size)


def _details(options: Options, result: Tally, say: Language) -> list[str]:
    devices = dict(enumerate(options.devices()))
    lines = []
    for gpu, (allocated, reserved) in sorted(result.peaks.items()):
        device = devices.get(gpu)
        text = say("peak {used} ({reserved} reserved)", used=plain_amount(allocated), reserved=plain_amount(reserved))
        if device is not None:
            text = say("peak {used} ({reserved} reserved) of {budget}", used=plain_amount(allocated),
                       reserved=plain_amount(reserved), budget=plain_amount(device.total_memory))  # fmt: skip
        lines.append(f"  cuda:{gpu}  {text}{f'  {device.name}' if device is not None else ''}")
    for rank, size in sorted(result.sent.items()):
        text = say(
            "host {host}, {sent} sent by collectives", host=plain_amount(result.hosts[rank]), sent=plain_amount(size)
        )
        lines.append(f"  {say('rank {rank}', rank=str(rank))}  {text}")
    return lines
