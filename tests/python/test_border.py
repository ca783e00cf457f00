"""What tools/generate_border.py writes from core/model is what lies in the tree, and what the core binds."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def border() -> Iterator[Any]:
    """tools/generate_border.py."""
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("generate_border", ROOT / "tools" / "generate_border.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(ROOT / "tools"))
    for name in [name for name in sys.modules if name.split(".")[0] == "border"]:
        del sys.modules[name]


@pytest.fixture
def read(border: Any, tmp_path: Path) -> Callable[[str], Any]:
    def read(header: str) -> Any:
        (tmp_path / "thing.h").write_text(header, encoding="utf-8")
        return border.read_model(tmp_path)

    return read


def test_the_tree_holds_what_the_headers_say(border):
    for name, text in border.in_the_tree(border.read_model()).items():
        assert (ROOT / name).read_text("utf-8") == text, f"run tools/generate_border.py --write: {name} is old"


def test_the_core_has_what_the_types_promise(border):
    import torch  # noqa: F401  the core's libraries

    from devsan import _core

    model = border.read_model()
    for record in model.records.values():
        made = getattr(_core, record.name)()
        for each in record.fields:
            setattr(made, each.python_name, getattr(made, each.python_name))
        for each in record.properties:
            getattr(made, each.name)
    for enum in model.enums.values():
        members = getattr(_core, enum.name).__members__
        assert list(members) == [word.upper() for word in enum.words()]


def test_the_types_name_what_the_core_has():
    import torch  # noqa: F401  the core's libraries

    from devsan import _core

    stubs = [ast.parse((ROOT / "devsan" / name).read_text("utf-8")) for name in ("_core.pyi", "_core_records.pyi")]
    named = {each.name for stub in stubs for each in stub.body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
    assert named == {name for name in dir(_core) if not name.startswith("_")}


def test_fields_comments_and_properties_are_read(read):
    model = read("""
/// A thing.
struct Thing {
  std::string name;  ///< as it is called
  std::vector<Thing>
      parts;
  int count = 1;
  /// Whether it has a name.
  bool is_named() const {
    return !name.empty();  // "" is none
  }
  bool operator==(const Thing&) const = default;
};
""")
    thing = model.records["Thing"]
    assert (thing.doc, thing.fields[0].doc) == ("A thing.", "as it is called")
    assert [each.name for each in thing.fields] == ["name", "parts", "count"]
    assert [(each.name, each.doc) for each in thing.properties] == [("is_named", "Whether it has a name.")]


@pytest.mark.parametrize("kind", ["std::set<int>", "std::vector<std::set<int>>", "Other", "at::Tensor"])
def test_a_field_that_cannot_cross_is_one_sentence(border, read, kind):
    with pytest.raises(
        Exception, match=rf"^core/model/thing.h:2: expected Thing::field to be .*, got {re.escape(kind)}$"
    ):
        read(f"struct Thing {{\n  {kind} field;\n}};\n")


def test_what_is_no_field_is_one_sentence(read):
    with pytest.raises(Exception, match=r"^core/model/thing.h:3: expected a field of Thing, got int a\[3\];$"):
        read("struct Thing {\n  int b = 0;\n  int a[3];\n};\n")
