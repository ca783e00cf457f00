"""What is known of an error that is no finding, below its traceback.

note: A kernel failed, most often on an index that is out of range: a token id ...
"""

from __future__ import annotations

from collections.abc import Container
from typing import TextIO

from devsan.diagnostics.known_errors import known_error
from devsan.render.language import Language, language_for
from devsan.render.terminal import printer
from devsan.render.terminal.stream import unbroken_columns
from devsan.render.terminal.text import paragraph


def write_known(
    sentence: str, stream: TextIO, say: Language | None = None, libraries: Container[str] | None = None
) -> bool:
    """Writes a note about the error whose sentence is ``sentence``; nothing, and False, where nothing is known of it.

    Args:
        sentence: of the error.
        stream: where to write.
        say: the language; by default the chosen one.
        libraries: that the program has imported; None where nobody knows.
    """
    say = say or language_for(stream)
    known = known_error(sentence, libraries)
    if known is None:
        return False
    told = paragraph(f"{say('note')}: ", "note", say.text(known.told), unbroken_columns(stream))
    printer.write_lines(list(told), stream)
    return True
