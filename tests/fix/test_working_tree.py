"""Where a fix is written, and where not."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import pytest

from devsan.errors import DevsanError
from devsan.fix.patch import FilePatch, patches
from devsan.fix.working_tree import WorkingTree


def made(path: Path) -> list[FilePatch]:
    return patches({str(path): path.read_text(encoding="utf-8") + "b = 2\n"})


def refused(folder: Path, path: Path, sentence: str, force: bool = False) -> None:
    before = path.read_bytes()
    with pytest.raises(DevsanError, match=sentence):
        WorkingTree.around(str(folder)).write(made(path), force)
    assert path.read_bytes() == before


def test_a_file_that_git_has(repository: Any) -> None:
    path = repository.commit("src/a.py")
    WorkingTree.around(str(repository.folder)).write(made(path))
    assert path.read_text() == "a = 1\nb = 2\n"


def test_the_tree_is_the_repository_and_not_the_folder(repository: Any) -> None:
    path = repository.commit("a.py")
    (repository.folder / "deep").mkdir()
    working = WorkingTree.around(str(repository.folder / "deep"))
    assert working.name_of(str(path)) == "a.py"
    working.write(made(path))
    assert path.read_text() == "a = 1\nb = 2\n"


@pytest.mark.parametrize("how", ["changed", "staged", "untracked", "ignored"])
def test_what_git_does_not_have_is_not_written_over(repository: Any, how: str) -> None:
    path = repository.commit("a.py")
    if how in ("untracked", "ignored"):
        path = repository.folder / "new.py"
        if how == "ignored":
            (repository.folder / ".gitignore").write_text("new.py\n")
    path.write_text("a = 3\n", encoding="utf-8")
    if how == "staged":
        repository.git("add", ".")
    what = "changes that are not committed" if how in ("changed", "staged") else "a file that git does not track"
    refused(repository.folder, path, rf"as git has it, got {what}: nothing is written; --force writes")
    WorkingTree.around(str(repository.folder)).write(made(path), force=True)
    assert path.read_text() == "a = 3\nb = 2\n"


def test_one_file_that_is_refused_keeps_all_as_they_are(repository: Any) -> None:
    good = repository.commit("a.py")
    bad = repository.folder / "bad.py"
    bad.write_text("a = 3\n", encoding="utf-8")
    with pytest.raises(DevsanError):
        WorkingTree.around(str(repository.folder)).write([*made(good), *made(bad)])
    assert good.read_text() == "a = 1\n"


def test_nothing_outside_of_the_tree(repository: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("other") / "a.py"
    path.write_text("a = 1\n")
    (repository.folder / "link.py").symlink_to(path)
    for each in (path, repository.folder / "link.py"):
        refused(repository.folder, each, "expected a file in .*, got .*: nothing is written", force=True)


def test_nothing_that_is_installed(repository: Any) -> None:
    path = repository.commit("venv/lib/site-packages/library/a.py")
    refused(
        repository.folder, path, "expected a file of the program, got .* of a library: nothing is written", force=True
    )
    assert WorkingTree.around(str(repository.folder)).name_of(str(path)) == "library/a.py"
    site = sysconfig.get_path("purelib")
    assert WorkingTree.around(str(repository.folder)).name_of(f"{site}/library/a.py") == "library/a.py"


def test_without_git_the_working_folder_is_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    working = WorkingTree.around(str(tmp_path))
    assert not working.is_git
    working.write(made(path))
    assert path.read_text() == "a = 1\nb = 2\n"


def test_a_file_that_changed_meanwhile(repository: Any) -> None:
    path = repository.commit("a.py")
    late = made(path)
    path.write_text("a = 5\n", encoding="utf-8")
    with pytest.raises(DevsanError, match="as it was tried, got another text by now"):
        WorkingTree.around(str(repository.folder)).write(late, force=True)
    assert path.read_text() == "a = 5\n"
