"""Installing beside one's own torch: `pip install .` in a clone, whose isolated build hides that torch from itself."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD_TOOLS = runpy.run_path(str(ROOT / "tools" / "torch_facts.py"))["BUILD_TOOLS"]

# What pip puts into the sitecustomize.py of an isolated build (pip/_internal/build_env.py): the packages of the
# environment are gone from sys.path, whoever put them there.
HIDDEN = """
import site, sys
hidden = set(site.getsitepackages())
sys.path[:] = [path for path in sys.path if path not in hidden]
"""

# An environment that has no package of this name.
WITHOUT = """
import importlib.machinery, sys
class Without(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "{name}" else super().find_spec(name, path, target)
sys.meta_path[:] = [Without if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture
def build(tmp_path: Path):
    """Runs a step of the build with a Python whose sitecustomize.py has this text."""

    def run(sitecustomize: str, *words: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "site"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(sitecustomize, encoding="utf-8")
        path = os.pathsep.join([str(folder), *[each for each in sys.path if each.endswith("site-packages")]])
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": path, "PATH": tools}
        return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize(
    "script", [("torch_facts.py",), ("generate_device_checks.py", "--help")], ids=lambda words: words[0]
)
def test_every_step_sees_the_torch_that_an_isolated_build_hides(build, script) -> None:
    done = build(HIDDEN + "import importlib.util\nassert importlib.util.find_spec('torch') is None\n",
                 sys.executable, str(ROOT / "tools" / script[0]), *script[1:])  # fmt: skip
    assert "sitecustomize" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["torch", "yaml"])
def test_what_is_missing_is_said_before_anything_is_compiled(build, tmp_path: Path, name: str) -> None:
    done = build(WITHOUT.format(name=name), "cmake", "-S", str(ROOT), "-B", str(tmp_path / "build"), "-G", "Ninja",
                 f"-DPython_EXECUTABLE={sys.executable}")  # fmt: skip
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert f"but {sys.executable} has none." in re.sub(r"(?<=/) ", "", said), said
    assert "pip install ." in said and BUILD_TOOLS in said, said
    assert not (tmp_path / "build" / "build.ninja").exists()


def test_the_build_tools_that_are_named_are_those_that_the_build_requires() -> None:
    requires = re.search(r"^requires = (.*)$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert requires is not None
    # What only some releases of Python need is not named.
    named = {re.split("[<>=]", text)[0] for text in re.findall(r'"(.*?)"', requires[1]) if ";" not in text}
    # scikit-build-core asks pip for CMake and Ninja where the machine has none.
    assert {*named, "cmake", "ninja"} == set(BUILD_TOOLS.split())


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_documents_name_the_one_command(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"pip install .*", text) == ["pip install ."]
