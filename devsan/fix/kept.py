"""The verified fix of a search, kept so that ``--apply`` and ``--diff`` need not search again.

NOTE [Kept fixes] One file for each search, in the user's cache folder, under a name that is made of all that the
search has seen of the job: its words, options and environment, the files that the words name, the Python text of the
script with what it imports from its own folder, and the versions of torch and DevSan. If any of these changes, the name
does, and the search begins anew; so it does where a file that the fix changes is not as it was. What the program reads
or imports beside them is not in the name; so a fix is kept for an hour alone.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from devsan.fix.job import Job
from devsan.fix.patch import FilePatch

_PACKAGES = ("torch", "devsan")
_SECONDS = 3600.0
_LARGEST = 1 << 20  # of a file that a word names: a larger one is data
_OF_THE_SHELL = {"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "TERM", "DEVSAN_LANG"}


@dataclass(frozen=True)
class KeptFix:
    """A verified fix.

    Attributes:
        texts: what it does.
        diff: unified, as ``TriedFix`` has it.
        patches: of the files that it changes.
        seconds: that have passed since it was found.
    """

    texts: tuple[str, ...]
    diff: str
    patches: tuple[FilePatch, ...]
    seconds: float = 0.0


def file_of(job: Job, how: Sequence[str], texts: Iterable[str]) -> Path:
    """Returns the file in which the fix of a job is kept; see NOTE [Kept fixes].

    Args:
        job: that is to be fixed.
        how: what else decides which fix is found, such as the number of rounds.
        texts: the Python text of the program.
    """
    environment = {name: value for name, value in job.environment.items() if name not in _OF_THE_SHELL}
    seen = [job.folder, job.python, job.options.to_variable(), *how, "", *job.words, "", *map(_version, _PACKAGES)]
    seen += [f"{name}={value}" for name, value in sorted(environment.items())]
    digest = hashlib.sha256("\0".join(seen).encode("utf-8", "surrogateescape"))
    for content in (*map(_content, job.words), *(text.encode("utf-8", "surrogateescape") for text in texts)):
        digest.update(hashlib.sha256(content).digest())
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "devsan" / "fixes" / f"{digest.hexdigest()[:32]}.json"


def keep(fix: KeptFix, file: Path) -> None:
    """Writes ``fix`` to ``file``, and removes what is too old; where that cannot be, the next search begins anew."""
    plain = {
        "texts": fix.texts,
        "diff": fix.diff,
        "patches": [[each.path, _plain(each.before), _plain(each.after), each.encoding] for each in fix.patches],
    }
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in file.parent.glob("*.json"):
            with contextlib.suppress(FileNotFoundError):  # another process removes them, too
                if time.time() - old.stat().st_mtime > _SECONDS:
                    old.unlink()
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            json.dump(plain, stream)


def kept_in(file: Path) -> KeptFix | None:
    """Returns the fix in ``file``; None where there is none, or it is too old."""
    try:
        seconds = time.time() - file.stat().st_mtime
        plain = json.loads(file.read_text(encoding="utf-8"))
        patches = tuple(
            FilePatch(path, base64.b64decode(before), base64.b64decode(after), encoding)
            for path, before, after, encoding in plain["patches"]
        )
        fix = KeptFix(tuple(plain["texts"]), plain["diff"], patches, seconds)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return fix if 0 <= seconds <= _SECONDS and all(map(_is_there, patches)) else None


def _is_there(patch: FilePatch) -> bool:
    """Whether its file is as the search has found it: the fix may have been taken, or the file edited."""
    try:
        return Path(patch.path).read_bytes() == patch.before
    except OSError:
        return False


def _plain(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _content(word: str) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(word) and os.path.getsize(word) <= _LARGEST:
            return Path(word).read_bytes()
    return b""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
