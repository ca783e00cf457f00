"""The user's working tree: where ``devsan fix --apply`` may write, and over what it may not.

NOTE [What may be written] A fix is written where it can be taken back: in the git repository of the working folder,
over files whose present text git has. Without a repository the working folder is the tree, and nobody knows more than
the user. What is installed is not the user's, wherever it lies.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devsan.errors import DevsanError
from devsan.fix.failure import is_own
from devsan.fix.patch import FilePatch
from devsan.installed import installed_as


@dataclass(frozen=True)
class WorkingTree:
    """A folder, and whether git keeps it.

    Attributes:
        root: the top of the git repository around the working folder, or else that folder.
        is_git: whether it is a repository's.
    """

    root: str
    is_git: bool

    @classmethod
    def around(cls, folder: str) -> WorkingTree:
        """Returns the working tree that ``folder`` is in."""
        top = _git(folder, "rev-parse", "--show-toplevel").rstrip("\n")
        return cls(os.path.realpath(top or folder), bool(top))

    def name_of(self, path: str) -> str:
        """Returns what a patch calls a file: its path from the root, or from the folder of installed packages."""
        real = os.path.realpath(path)
        installed = installed_as(path)
        if real.startswith(os.path.join(self.root, "")) and not installed:
            return os.path.relpath(real, self.root)
        return installed or real.lstrip("/")

    def diff(self, patches: Sequence[FilePatch]) -> str:
        """Returns ``patches`` as a unified diff that ``git apply`` takes anywhere in the tree."""
        return "".join(patch.diff(self.name_of(patch.path)) for patch in patches)

    def write(self, patches: Sequence[FilePatch], force: bool = False) -> None:
        """Writes all of ``patches``, or nothing.

        Args:
            patches: of files in the tree.
            force: over changes that git does not have, too.

        Raises:
            DevsanError: a file is none of the tree, has other text by now, or has changes that git does not have.
        """
        for patch in patches:
            self._check(patch, force)
        for patch in patches:
            try:
                Path(patch.path).write_bytes(patch.after)
            except OSError as error:
                raise DevsanError(f"expected a file that can be written, got {patch.path!r}: {error}") from error

    def _check(self, patch: FilePatch, force: bool) -> None:
        real = os.path.realpath(patch.path)
        if not real.startswith(os.path.join(self.root, "")):
            raise DevsanError(f"expected a file in {self.root}, got {patch.path}: nothing is written")
        if real.endswith(".py") and not is_own(patch.path):
            raise DevsanError(f"expected a file of the program, got {patch.path} of a library: nothing is written")
        if Path(real).read_bytes() != patch.before:
            raise DevsanError(f"expected {patch.path} as it was tried, got another text by now: nothing is written")
        if not force:
            self.check_committed(patch.path)

    def check_committed(self, path: str) -> None:
        """Raises a DevsanError where the file at ``path`` has changes that git does not have."""
        status = ("status", "--porcelain", "--ignored", "--", os.path.realpath(path))
        state = _git(self.root, *status) if self.is_git else ""
        if state:
            what = "a file that git does not track" if state[:2] in ("??", "!!") else "changes that are not committed"
            raise DevsanError(
                f"expected {path} as git has it, got {what}: nothing is written; --force writes all the same"
            )


def _git(folder: str, *words: str) -> str:
    """What git answers; "" where it is none of its folders, or where there is no git."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
