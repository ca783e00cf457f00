"""A LibTorch program that is no part of DevSan finds it with find_package, and what devsan/check.h says in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long  # compiles a program with torch's headers

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOLDEN = HERE / "goldens" / "check.txt"


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in words], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done


def cmake_prefix() -> str:
    return run(sys.executable, "-m", "devsan", "--cmake-prefix").stdout.strip()


def configure(folder: Path, prefix: str | Path) -> str:
    """Runs cmake on the program, as its user would. Returns what it says."""
    import torch

    prefixes = [str(prefix)]
    words: list[object] = ["cmake", "-S", HERE / "program", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    if torch.version.cuda is not None and shutil.which("nvcc") is None:
        words.append(f"-DTORCH_FOLDER={Path(torch.__file__).parent}")
    else:
        prefixes.append(torch.utils.cmake_prefix_path)
    return run(*words, f"-DCMAKE_PREFIX_PATH={';'.join(prefixes)}").stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """What the program printed; it ends with 1 where one of its own requirements does not hold."""
    folder = tmp_path_factory.mktemp("program")
    configure(folder, cmake_prefix())
    run("cmake", "--build", folder)
    return run(folder / "program")


def test_reports(printed: subprocess.CompletedProcess[str], request: pytest.FixtureRequest) -> None:
    # columns and the names of functions are the compiler's
    text = re.sub(r"--> \S*/(main\.cpp:\d+)(:\d+)?$", r"--> \1", printed.stdout, flags=re.MULTILINE)
    text = re.sub(r"= in: .*main.*$", "= in: main", text, flags=re.MULTILINE)
    if request.config.getoption("--bless", default=False):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_cost_while_all_agree(printed: subprocess.CompletedProcess[str]) -> None:
    """About 1 ns; ten times and more is left for a busy machine. The program itself refuses to allocate."""
    nanoseconds = re.search(r"([\d.]+) ns a tensor", printed.stderr)
    assert nanoseconds is not None and float(nanoseconds[1]) < 50


def test_the_words_are_those_of_python(printed: subprocess.CompletedProcess[str]) -> None:
    import torch

    import devsan

    hidden, mask = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.bool, device="meta")
    with pytest.raises(devsan.DeviceMismatch) as caught:
        devsan.check(hidden, mask)
    sentence, _, title = str(caught.value).splitlines()[:3]
    title = re.sub(r"^error\[DV\d{3}\]", "error", title)
    assert f"{sentence}\n\n{title.replace('devsan.check', 'devsan::check')}\n" in printed.stdout
    told = r"^expected tensors on cpu here, but ones created a tensor on meta\n"
    with pytest.raises(devsan.DeviceMismatch, match=told), devsan.expect("cpu"):
        torch.ones(2, device="meta")
    assert "expected tensors on cpu here, but mask is on meta\n" in printed.stdout


def test_cmake_installs_it(tmp_path: Path) -> None:
    build = Path(os.environ.get("DEVSAN_BUILD_DIR", "build/venv"))
    if not (ROOT / build / "cmake_install.cmake").exists():
        pytest.skip("DEVSAN_BUILD_DIR names no build of DevSan: tools/test.sh sets it")
    prefix = tmp_path / "prefix"
    run("cmake", "--install", ROOT / build, "--component", "cxx", "--prefix", prefix)
    headers = {path.relative_to(ROOT / "include") for path in (ROOT / "include").rglob("*.h")}
    assert {path.relative_to(prefix / "include") for path in prefix.rglob("*.h")} == headers
    configure(tmp_path / "build", prefix)
    flags = (tmp_path / "build" / "build.ninja").read_text(encoding="utf-8")
    assert f"-isystem {prefix}/include" in flags


def test_its_version_is_that_of_the_project() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    package = (ROOT / "tools" / "cmake" / "devsan" / "devsanConfigVersion.cmake").read_text(encoding="utf-8")
    assert version is not None and f'set(PACKAGE_VERSION "{version[1]}")' in package
