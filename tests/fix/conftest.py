"""What the tests of ``devsan fix`` share: repositories to write fixes in, and the modules beside them."""

from __future__ import annotations

import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent

sys.path.insert(0, str(_FOLDER))


@dataclass(frozen=True)
class Repository:
    """A git repository in a folder."""

    folder: Path

    def git(self, *words: str, text: str = "", cwd: Path | None = None) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        done = subprocess.run(
            command, cwd=cwd or self.folder, input=text.encode(), capture_output=True, check=True, timeout=60
        )
        return done.stdout.decode()

    def commit(self, name: str, content: bytes = b"a = 1\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        return path


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.git("init", "-q")
    made.git("config", "core.autocrlf", "false")
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Searches are long: CI has every fourth of them, because it has an hour. What is drawn has been marked by now."""
    for item in items:
        is_search = _FOLDER in item.path.parents and item.get_closest_marker("long") is not None
        if is_search and zlib.crc32(item.nodeid.encode()) % 4:
            item.add_marker(pytest.mark.rare)
