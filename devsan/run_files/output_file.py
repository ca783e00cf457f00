"""Files that ``-o`` names: what is in a file is never lost, unless ``--force`` is given."""

from __future__ import annotations

import os

from devsan.diagnostics.messages import message
from devsan.errors import UsageError

_FORCE = "--force"  # of the command line; other ways in spell it as the rest of theirs


def check(path: str, force: bool, spelling: str = _FORCE) -> None:
    """Looks whether a file can be written there, before what it will hold is made.

    Args:
        path: the file.
        force: replace it where it exists.
        spelling: how one says ``force`` where this was asked for.

    Raises:
        UsageError: the folder does not exist or may not be written to, ``path`` is one itself, or it is a file that
            exists and is not to be replaced.
    """
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise UsageError("output in a folder that exists", repr(folder))
    if os.path.isdir(path):
        raise UsageError("a file for output", f"the directory {path!r}")
    if not force:
        refuse(path, spelling)
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError("output at a writable path", repr(path))


def refuse(path: str, spelling: str = _FORCE) -> None:
    """Raises UsageError if something would be lost at ``path``, with what replaces it as one says it there."""
    if is_taken(path):
        raise UsageError(
            message("a new file for output, or {force} to replace it", force=spelling),
            message("{path}, which exists", path=repr(path)),
        )


def is_taken(path: str) -> bool:
    """Returns whether writing to ``path`` would lose something: neither a device or a pipe nor an empty file would."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def free_name(path: str, force: bool) -> str:
    """Returns ``path``, or, where a file has come there in the meantime, a name beside it."""
    return path if force or not is_taken(path) else with_part(path, str(os.getpid()))


def with_part(name: str, part: str) -> str:
    """Returns ``run.<part>.dvs`` for ``run.dvs``."""
    root, ending = os.path.splitext(name)
    return f"{root}.{part}{ending}"
