"""`make lint` says the same before and after the libraries are installed that the tests drive."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def imported() -> set[str]:
    """The packages that DevSan's own sources import, anywhere in them, but for its own and Python's."""
    packages = set()
    for path in (ROOT / "devsan").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                packages |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                packages.add(node.module.split(".")[0])
    return packages - set(sys.stdlib_module_names) - {"devsan"}


def test_mypy_knows_each_package_that_is_not_there_when_it_runs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    development = (ROOT / "tools/requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    required = [*project["project"]["dependencies"], *(line for line in development if line[:1].isalpha())]
    installed = {re.split(r"[^\w-]", name)[0].replace("-", "_") for name in required} | {"markupsafe", "markdown_it"}
    overrides = project["tool"]["mypy"]["overrides"]
    ignored = {module.removesuffix(".*") for table in overrides for module in table["module"]}
    assert imported() - installed <= ignored
