"""New texts as patches: what git applies, with the encoding and the line ends of each file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devsan.errors import DevsanError
from devsan.fix.patch import patches, text_of
from devsan.fix.working_tree import WorkingTree

BEFORE = {
    "unix.py": "a = 1\nb = 2\n",
    "dos.py": "a = 1\r\nb = 2\r\n",
    "mixed.py": "a = 1\r\nb = 2\nc = 3\r\n",
    "open_end.py": "a = 1\nb = 2",
    "marked.py": "\ufeffa = 1\nb = 2\n",
    "latin.py": "# -*- coding: latin-1 -*-\nname = 'é'\nb = 2\n",
    "deep/er.yaml": "b = 2\n",
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_git_applies_is_what_is_written(repository: Any, name: str) -> None:
    encoding = "latin-1" if name == "latin.py" else "utf-8"
    path = repository.commit(name, BEFORE[name].encode(encoding))
    text = BEFORE[name].removeprefix("\ufeff").replace("\r\n", "\n")
    [patch] = made = patches({str(path): text.replace("b = 2", "b = 3\nd = 4")})
    ending = "\r\n" if name in ("dos.py", "mixed.py") else "\n"
    expected = BEFORE[name].replace("b = 2", f"b = 3{ending}d = 4")
    if name == "mixed.py":  # a new line ends as the first of the file
        expected = "a = 1\r\nb = 3\r\nd = 4\r\nc = 3\r\n"
    assert patch.after == expected.encode(encoding)
    working = WorkingTree.around(str(path.parent))
    if encoding == "utf-8":
        repository.git("apply", "-", text=working.diff(made), cwd=path.parent)
        assert path.read_bytes() == patch.after
        repository.git("checkout", "-q", ".")
    working.write(made)
    assert path.read_bytes() == patch.after


def test_what_does_not_change_is_no_patch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a = 1\r\n")
    assert patches({str(tmp_path / "a.py"): "a = 1\n"}) == []


def test_a_text_that_does_not_fit_the_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# coding: ascii\nb = 2\n")
    with pytest.raises(DevsanError, match=r"expected a file whose encoding is known, got '.*a\.py'"):
        patches({str(tmp_path / "a.py"): "# coding: ascii\nb = 'é'\n"})


@pytest.mark.parametrize("name", BEFORE)
def test_a_text_is_read_as_python_reads_it(repository: Any, name: str) -> None:
    encoding = "latin-1" if name == "latin.py" else "utf-8"
    path = repository.commit(name, BEFORE[name].encode(encoding))
    text = text_of(str(path))
    assert text == BEFORE[name].removeprefix("\ufeff").replace("\r\n", "\n")
    assert patches({str(path): text}) == []
