"""devsan.install, devsan.uninstall, devsan.explain: errors are explained after the fact, wherever they end."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "cli" / "fakes"  # a torch that calls DevSan's entry point, and a report of one line

SENTENCE = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"

FAIL = f"""
import sys, threading
SENTENCE = {SENTENCE!r}
def fail(rank=0):
    raise RuntimeError(SENTENCE)
"""


def python(code: str, folder: Path, *path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEVSAN", "TORCH_"))}
    kept["PYTHONPATH"] = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    file = folder / "program.py"
    file.write_text(code)
    words = [sys.executable, str(file)]
    return subprocess.run(words, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, timeout=120)


def reports(text: str) -> int:
    return len(re.findall(r"^error.*: operands.* on cuda:0 and cpu$", text, re.MULTILINE))


def test_light_and_idempotent(tmp_path: Path) -> None:
    done = python(
        """
import os, sys, threading
import devsan
before = sys.excepthook, threading.excepthook
devsan.install()
ours = sys.excepthook, threading.excepthook
devsan.install()
assert ours == (sys.excepthook, threading.excepthook) != before
assert os.environ["DEVSAN_OPTIONS"] == "gpus=real"
heavy = {"torch", "rich", "numpy", "multiprocessing", "devsan.options"}
heavy |= {"devsan.failure_report", "devsan.diagnosis.build"}
print(sorted(heavy & set(sys.modules)), [name for name in sys.modules if name.startswith("devsan.introspect.models")])
devsan.uninstall()
assert before == (sys.excepthook, threading.excepthook)
assert "DEVSAN_OPTIONS" not in os.environ
devsan.uninstall()
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("[] []\n", "")


def test_the_program_and_its_threads(tmp_path: Path) -> None:
    done = python(
        FAIL
        + """
import asyncio, devsan
seen = []
threading.excepthook, sys.excepthook = (lambda args: seen.append("thread")), (lambda *error: print(seen, "hook"))
devsan.install()
thread = threading.Thread(target=fail)
thread.start()
thread.join()
async def main():
    fail()
asyncio.run(main())
""",
        tmp_path,
    )
    assert done.returncode == 1
    assert done.stdout == "['thread'] hook\n"  # the hooks that were there before are still called
    assert reports(done.stderr) == 2


def test_hooks_of_others_stay_when_it_is_taken_back(tmp_path: Path) -> None:
    done = python(
        FAIL
        + """
import devsan
devsan.install()
ours = sys.excepthook
sys.excepthook = lambda *error: (print("theirs"), ours(*error))
devsan.uninstall()
fail()
""",
        tmp_path,
    )
    assert done.stdout == "theirs\n"
    assert done.stderr.endswith(f"RuntimeError: {SENTENCE}\n")
    assert reports(done.stderr) == 0


def test_a_caught_error(tmp_path: Path) -> None:
    done = python(
        FAIL
        + """
import devsan, logging
logging.basicConfig()
assert devsan.explain() == "" == devsan.explain(KeyError("x"))
try:
    fail()
except RuntimeError as error:
    logging.exception("step 3 failed\\n%s", devsan.explain())
    assert devsan.explain() == devsan.explain(error)
    assert "\\x1b" not in devsan.explain()
""",
        tmp_path,
        FORCE_COLOR="1",
    )
    assert done.returncode == 0, done.stderr
    assert reports(done.stderr) == 1
    assert "ERROR:root:step 3 failed\nerror: operands" in done.stderr


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_children_that_are_forked(method: str, tmp_path: Path) -> None:
    done = python(
        FAIL
        + f"""
import multiprocessing
if __name__ == "__main__" or {method!r} == "forkserver":
    import devsan
    devsan.install()
if __name__ == "__main__":
    child = multiprocessing.get_context({method!r}).Process(target=fail)
    child.start()
    child.join()
    print(child.exitcode)
""",
        tmp_path,
    )
    assert done.stdout == "1\n"
    traceback, _, report = done.stderr.partition(f"RuntimeError: {SENTENCE}\n")
    assert traceback.startswith("Process ") and reports(report) == 1, done.stderr


@pytest.mark.parametrize("imported", ["at once", "late"])
def test_children_that_are_spawned_find_it_in_the_environment(imported: str, tmp_path: Path) -> None:
    """Through torch's entry point, whether the child imports torch before its target runs or within."""
    done = python(
        FAIL
        + f"""
def run():
    import torch
    fail()
if {imported == "at once"}:
    import torch
if __name__ == "__main__":
    import multiprocessing, devsan
    devsan.install()
    child = multiprocessing.get_context("spawn").Process(target=run)
    child.start()
    child.join()
""",
        tmp_path,
        FAKES,
        FAKE_LOG=str(tmp_path / "log"),
    )
    assert done.stderr.endswith(f"RuntimeError: {SENTENCE}\nREPORT RuntimeError at _bootstrap\n"), done.stderr
    assert not (tmp_path / "log").exists()  # nothing is emulated


def test_a_child_that_leaves_or_ends_well_is_not_reported(tmp_path: Path) -> None:
    done = python(
        FAIL
        + """
import multiprocessing, devsan
def leave():
    try:
        fail()
    except RuntimeError:
        sys.exit(3)
devsan.install()
for target in (leave, print, devsan.install):
    child = multiprocessing.get_context("fork").Process(target=target)
    child.start()
    child.join()
    print(child.exitcode)
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("3\n\n0\n0\n", "")


def test_what_a_pool_raises_again(tmp_path: Path) -> None:
    """The frames are another process's: the line is in the text of its traceback."""
    done = python(
        FAIL
        + """
import devsan
from concurrent.futures import ProcessPoolExecutor
devsan.install()
with ProcessPoolExecutor(1) as pool:
    pool.submit(fail).result()
""",
        tmp_path,
    )
    assert reports(done.stderr) == 1
    assert "--> program.py:5\n" in done.stderr
    assert "--> program.py:11:5  called from here" in done.stderr


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed: its own spawn is tried")
def test_torchs_spawn_is_reported_once_by_the_child(tmp_path: Path) -> None:
    info = tmp_path / "devsan-0.dist-info"  # devsan counts as installed, with the entry point that pip would write
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: devsan\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ndevsan = devsan.autoload:load\n")
    done = python(
        """
import torch, devsan
def add(rank):
    return torch.ones(2) + torch.ones(2, device="meta")
if __name__ == "__main__":
    devsan.install()
    import torch.multiprocessing
    torch.multiprocessing.spawn(add, nprocs=1)
""",
        tmp_path,
        tmp_path,
    )
    assert "ProcessRaisedException" in done.stderr
    assert done.stderr.count("operands of `+` are on cpu and meta") == 1, done.stderr
