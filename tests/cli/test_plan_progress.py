"""What is shown of a plan while it is made."""

from __future__ import annotations

import io
import re

from devsan.cli.plan_progress import PlanProgress
from devsan.render.language import Language


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def described(row: str, say: Language) -> str:
    return f"{row}: {say('fits')}"


def shown(stream: io.StringIO, language: str = "en") -> str:
    progress = PlanProgress[str](described, stream, language)
    progress.begins("rehearsing DDP", 3)
    progress.ended("DDP")
    progress.tells("a sentence")
    progress.begins("rehearsing ZeRO-1", 3)
    progress.close()
    return stream.getvalue()


def test_a_pipe_has_one_line_for_each_that_has_ended() -> None:
    assert shown(io.StringIO()) == "devsan: DDP: fits (rehearsal 1 of at least 3, 0:00)\ndevsan: a sentence\n"


def test_a_terminal_has_what_is_rehearsed_now_beneath_the_rows() -> None:
    text = re.sub(r"[^\n]*\r\x1b\[K", "", shown(Terminal()))
    assert text == "devsan: DDP: fits (rehearsal 1 of at least 3, 0:00)\ndevsan: a sentence\n"
    assert "devsan: rehearsing ZeRO-1 (rehearsal 2 of at least 3, 0:00)\r\x1b[K" in shown(Terminal())


def test_how_many_there_are_is_said_as_far_as_it_is_known() -> None:
    stream = io.StringIO()
    progress = PlanProgress[str](described, stream, "en")
    for count, is_most in ((0, False), (4, True), (2, False)):
        progress.begins("rehearsing", count, is_most)
        progress.ended("a row")
    places = re.findall(r"\((.*), 0:00\)", stream.getvalue())
    assert places == ["rehearsal 1", "rehearsal 2 of at most 4", "rehearsal 3"]


def test_it_is_said_in_chinese() -> None:
    said = shown(io.StringIO(), "zh")
    assert said.startswith("devsan: DDP: 放得下") and "第 1 次预演" in said and "rehearsal" not in said
