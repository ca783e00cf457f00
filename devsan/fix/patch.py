"""New texts of files as a patch: a unified diff, and bytes to write, with each file's own encoding and line ends."""

from __future__ import annotations

import difflib
import io
import os
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devsan.errors import DevsanError


@dataclass(frozen=True)
class FilePatch:
    """What becomes of one file.

    Attributes:
        path: of the file, absolute.
        before: its bytes as they are.
        after: its bytes as they are to be.
        encoding: of both.
    """

    path: str
    before: bytes
    after: bytes
    encoding: str

    def diff(self, name: str) -> str:
        """Returns a unified diff that calls the file ``name``; a carriage return stays at the end of its line."""
        encoding = "utf-8" if self.encoding == "utf-8-sig" else self.encoding  # a mark is part of the first line
        old, new = (_lines(each.decode(encoding)) for each in (self.before, self.after))
        lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def text_of(path: str) -> str:
    """Returns the text of a file in its own encoding, with "\\n" at the ends of lines.

    Raises:
        OSError, SyntaxError, UnicodeError: it cannot be read.
    """
    content = Path(path).read_bytes()
    return "".join(
        _bare(line) + "\n" * line.endswith("\n") for line in _lines(content.decode(_encoding(path, content)))
    )


def patches(changed: Mapping[str, str]) -> list[FilePatch]:
    """Returns the patches that give files new texts.

    Args:
        changed: the new texts by the files' paths, with "\\n" at the ends of lines.

    Raises:
        DevsanError: a file cannot be read, or a new text does not fit its encoding.
    """
    found = []
    for path, text in sorted(changed.items()):
        try:
            before = Path(path).read_bytes()
            encoding = _encoding(path, before)
            after = _as_in(before.decode(encoding), text).encode(encoding)
        except (OSError, SyntaxError, UnicodeError) as error:
            raise DevsanError(f"expected a file whose encoding is known, got {path!r}: {error}") from error
        if after != before:
            found.append(FilePatch(os.path.abspath(path), before, after, encoding))
    return found


def _encoding(path: str, content: bytes) -> str:
    if path.endswith((".py", ".pyi")):
        return tokenize.detect_encoding(io.BytesIO(content).readline)[0]
    return "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"


def _as_in(before: str, text: str) -> str:
    """``text`` with the line ends of ``before``: a line that stays keeps its own, a new one has that of the first."""
    old, new = _lines(before), _lines(text)
    bare = [_bare(line) for line in old]
    ending = "\r\n" if old and old[0].endswith("\r\n") else "\n"
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, bare, [_bare(line) for line in new], autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag == "equal" and all(old[at].endswith("\n") for at in range(start, end)):
            lines += old[start:end]
        else:
            lines += [_bare(line) + (ending if line.endswith("\n") else "") for line in new[first:last]]
    return "".join(lines)


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _lines(text: str) -> list[str]:
    """Lines with their ends, at line feeds alone, as git sees them."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:] * bool(pieces[-1])
