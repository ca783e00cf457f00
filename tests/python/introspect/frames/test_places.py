"""A framework is one wherever it was imported from: a checkout, or `pip install --target`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from devsan import session
from devsan.introspect.frames.frames import Whose, framework_of, whose
from devsan.introspect.frames.places import package_of, place_in


@pytest.mark.parametrize(
    ("name", "package"), [("deepspeed", "deepspeed"), ("pytorch_lightning", "lightning"), ("mine", "")]
)
def test_by_the_folder_that_it_was_imported_from(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType(name)
    module.__file__ = str(tmp_path / name / "__init__.py")
    monkeypatch.setitem(sys.modules, name, module)
    inside, beside = str(tmp_path / name / "runtime" / "engine.py"), str(tmp_path / "train.py")
    assert framework_of(inside) == ((name, str(tmp_path)) if package else None)
    assert (package_of(inside), whose(inside)) == (package, Whose.LIBRARY if package else Whose.PROGRAM)
    assert (package_of(beside), whose(beside)) == ("", Whose.PROGRAM)


def test_every_file_of_devsan_is_known_as_its_own() -> None:
    own = Path(session.__file__).parent
    files = [str(file) for file in own.rglob("*.py")]
    assert len(files) > 300
    assert {package_of(file) for file in files} == {"devsan"}
    assert {whose(file) for file in files} == {Whose.HIDDEN}
    assert package_of(str(own.parent / "program.py")) == ""


@pytest.mark.parametrize(
    ("header", "lines", "end"),
    [
        ("for x in loader:  # each: of them", 1, 20),
        ('for x in kept["#k"]:', 1, 24),
        ("for x in made({\n        'a': 1,\n    }):", 3, 7),
    ],
)
def test_of_a_loop_that_steps_on_its_header_is_the_place(header: str, lines: int, end: int, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(f"def run(loader):\n    {header}\n        if x:\n            y = x\n", encoding="utf-8")
    whole = place_in(str(file), "run", 2, lines + 3, 4, 17)
    assert (whole.source, whole.span.line, whole.span.end_line) == (header, 2, lines + 1)
    assert (whole.span.column, whole.span.end_column) == (5, end)
    inner = place_in(str(file), "run", lines + 3, lines + 3, 12, 17)
    assert (inner.source, inner.span.end_column) == ("y = x", 18)
