"""Which files are of installed packages, linked ones too (NOTE [Linked packages] in devsan/installed.py)."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from devsan.fix.failure import is_own
from devsan.fix.working_tree import WorkingTree
from devsan.installed import installed_as, is_library


def package(folder: Path, recorded: bool = True) -> Path:
    """A package in a cache of an installer's."""
    module = folder / "linked" / "layers.py"
    module.parent.mkdir(parents=True)
    module.write_text("a = 1\n", encoding="utf-8")
    if recorded:
        record = folder / "linked-1.0.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text("linked/layers.py,sha256=x,6\nlinked-1.0.dist-info/RECORD,,\n", encoding="utf-8")
    return module


@pytest.fixture
def site(tmp_path: Path) -> Path:
    made = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize("whole_folder", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_linked_package_is_installed(tmp_path, site, whole_folder, recorded):
    kept = package(tmp_path / "cache" / "archive-v0" / "aB3", recorded)
    linked = site / "linked" / "layers.py"
    if whole_folder:
        linked.parent.symlink_to(kept.parent)
    else:
        linked.parent.mkdir()
        linked.symlink_to(kept)
    assert installed_as(str(linked)) == "linked/layers.py"
    assert is_library(str(linked)) and not is_own(str(linked))
    assert WorkingTree(str(tmp_path), False).name_of(str(linked)) == "linked/layers.py"
    assert is_own(str(kept)) is not recorded  # a resolved path says nothing without a RECORD


def test_a_package_beside_the_program_is_installed_and_the_program_is_not(tmp_path):
    package(tmp_path)  # pip install --target .
    script = tmp_path / "train.py"
    script.write_text("a = 1\n", encoding="utf-8")
    assert installed_as(str(tmp_path / "linked" / "layers.py")) == "linked/layers.py"
    assert is_own(str(script)) and installed_as(str(script)) == ""


def test_what_was_installed_into_a_folder_is_looked_at_as_the_programs_and_not_edited(tmp_path):
    module = package(tmp_path / "deps")
    (tmp_path / "deps" / "linked-1.0.dist-info" / "INSTALLER").write_text("pip\n", encoding="utf-8")
    assert installed_as(str(module)) == ""
    assert is_library(str(module)) and not is_own(str(module))


def test_a_project_that_is_linked_for_its_development_is_the_users(tmp_path, site, monkeypatch):
    module = package(tmp_path / "project" / "src", recorded=False)
    (site / "linked").symlink_to(module.parent)
    monkeypatch.chdir(tmp_path / "project")
    assert is_own(str(site / "linked" / "layers.py"))


def test_python_itself_is_a_library():
    assert is_library(str(Path(sysconfig.get_path("stdlib")) / "contextlib.py"))
    assert installed_as("<string>") == installed_as("<frozen runpy>") == ""
