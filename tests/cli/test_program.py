"""A program sees no difference between `python ...` and `devsan run ...`: stdout, stderr and exit code are compared."""

from __future__ import annotations

import os
import sys
import zipapp

import pytest

PROBE = """
import sys, pickle
class Local: pass
hidden = ("sitecustomize", "--gpus", "--memory")  # options that it names: devsan has nothing to say of them
print(sys.argv)
print(sys.path)
print(globals().get("__file__"), __name__, __package__, type(__builtins__), __doc__)
print(__spec__ and (__spec__.name, __spec__.origin))
print(getattr(__loader__, "__name__", type(__loader__).__name__), globals().get("__cached__"))
print(sorted(name for name in globals()))
print(sys.modules["__main__"].__dict__ is globals())
print(type(pickle.loads(pickle.dumps(Local()))) is Local)
"""


def test_script(front, same_as_python):
    front.write("probe.py", PROBE)
    same_as_python("probe.py", "--gpus", "3", "--", "-m", "x y", "")


@pytest.mark.parametrize("path", ["sub/probe.py", "./sub/../sub/probe.py", "link.py"])
def test_script_elsewhere(front, same_as_python, path):
    front.write("sub/probe.py", PROBE)
    front.write("sub/beside.py", "")
    (front.folder / "link.py").symlink_to("sub/probe.py")
    same_as_python(path)


def test_script_absolute(front, same_as_python):
    front.write("probe.py", PROBE)
    same_as_python(str(front.folder / "probe.py"), "a")


def test_directory_and_zip(front, same_as_python):
    front.write("app/__main__.py", PROBE)
    same_as_python("app", "a")
    zipapp.create_archive(front.folder / "app", front.folder / "app.pyz")
    same_as_python("app.pyz", "a")


@pytest.mark.parametrize("name", ["probe", "package", "package.probe"])
def test_module(front, same_as_python, name):
    front.write("probe.py", PROBE)
    front.write("package/__init__.py", "print('package')\n")
    front.write("package/__main__.py", PROBE)
    front.write("package/probe.py", PROBE)
    same_as_python("-m", name, "-c", "--memory")


def test_code(same_as_python):
    same_as_python("-c", PROBE, "a", "--gpus")


def test_safe_path(front, same_as_python):
    front.write("probe.py", PROBE)
    same_as_python("probe.py", PYTHONSAFEPATH="1")


@pytest.mark.parametrize(
    "last_line",
    [
        "sys.exit()",
        "sys.exit(0)",
        "sys.exit(7)",
        "sys.exit('a word to say')",
        "os._exit(3)",
        "raise SystemExit(True)",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getpid(), 15)",
        "1 / 0",
        "fail()",
        "raise KeyboardInterrupt",
        "os.kill(os.getpid(), 2); time.sleep(2)",
        "raise BaseException('base')",
        "import broken",
        "raise ValueError('text') from KeyError('cause')",
        "sys.excepthook = lambda *a: print('own hook', a[0], a[2].tb_frame.f_code.co_name); fail()",
        "sys.excepthook = lambda *a: sys.exit(5); fail()",
        "atexit.register(lambda: print(sys.last_value, sys.last_traceback.tb_lineno)); fail()",
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread', __name__))).start(); fail()",
        "fail_in_handler()",
        "traceback.print_stack(limit=1)",
    ],
)
@pytest.mark.long
def test_the_end(front, same_as_python, last_line):
    front.write("broken.py", "x = = 1\n")
    front.write(
        "end.py",
        f"""
import atexit, os, sys, threading, time, traceback
atexit.register(lambda: print("atexit", __name__, globals().get("__file__")))
def fail():
    raise RuntimeError("expected one thing, got another")
def fail_in_handler():
    try:
        fail()
    except RuntimeError:
        [][1]
print("out")
{last_line}
""",
    )
    same_as_python("end.py")


def test_an_error_in_the_programs_own_hook(front):
    """The one traceback that shows a frame of ours: the interpreter prints it, and our frame called the hook."""
    front.write("hook.py", "import sys\nsys.excepthook = lambda *a: 1 / 0\nraise ValueError('v')\n")
    expected = front.python("hook.py")
    got = front.devsan("run", "--format=off", "hook.py")
    assert got.returncode == expected.returncode == 1
    lines = got.stderr.splitlines()
    own = next(number for number, line in enumerate(lines) if "devsan/cli/program.py" in line)
    frame = lines[own : own + 3]
    del lines[own : own + (2 if frame[-1].lstrip().startswith("File") else 3)]  # 3.13 marks the call with ~~~
    assert lines == expected.stderr.splitlines()


@pytest.mark.parametrize("text", ["x = = 1\n", "def f(:\n", "print('unterminated\n", "\tx\n  y\n", "x = '\xe9'\n"])
def test_syntax_error(front, same_as_python, text):
    front.write("wrong.py", text)
    same_as_python("wrong.py")
    same_as_python("-c", text)


def test_encoding_and_byte_order_mark(front, same_as_python):
    (front.folder / "latin.py").write_bytes("# coding: latin-1\nprint('é')\n".encode("latin-1"))
    same_as_python("latin.py")
    (front.folder / "mark.py").write_bytes(b"\xef\xbb\xbfprint('mark')\n")
    same_as_python("mark.py")


def test_traceback_of_module_and_code(front, same_as_python):
    front.write("package/__init__.py", "")
    front.write("package/fails.py", "def f():\n    raise ValueError('v')\nf()\n")
    got = front.devsan("run", "--format=off", "-m", "package.fails")
    assert got.returncode == 1
    assert got.stderr.splitlines()[1].lstrip().startswith(f'File "{front.folder}/package/fails.py", line 3')
    assert "runpy" not in got.stderr and "devsan" not in got.stderr
    if sys.version_info < (3, 13):  # from then on python shows the lines of -c, which only it can register
        same_as_python("-c", "def f():\n    raise ValueError('v')\nf()")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("start", ["spawns.py", "-m"])
def test_children_by_multiprocessing(front, same_as_python, method, start):
    front.write(
        "spawns.py",
        f"""
import multiprocessing, sys, os
class Local:
    value = 3
def work(local):
    import torch
    return local.value, __name__, sys.argv, "DEVSAN_OPTIONS" in os.environ
if __name__ == "__main__":
    os.environ.setdefault("DEVSAN_OPTIONS", "gpus=2")
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(work, (Local(),)))
""",
    )
    same_as_python(*((start,) if start != "-m" else ("-m", "spawns")), "a")
    started = front.log()
    # python's own run starts one too where its child imports torch anew; a fork has its parent's.
    assert "start a100-80g,a100-80g" in started and set(started) <= {"start a100-80g,a100-80g", "stop"}


def test_stdin_is_the_programs(front):
    import subprocess
    import sys

    front.write("echo.py", "print(input())\n")
    got = subprocess.run(
        [sys.executable, "-m", "devsan", "run", "echo.py"],
        cwd=front.folder,
        env=front.environment,
        input="word\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert got.stdout == "word\n"


def test_unittest_and_coverage_style_reruns(front, same_as_python):
    """A program that starts itself again by sys.argv[0] and __main__.__spec__, as launchers do."""
    front.write(
        "again.py",
        """
import os, subprocess, sys
if len(sys.argv) == 1:
    done = subprocess.run([sys.executable, os.path.abspath(sys.argv[0]), "inner"], capture_output=True, text=True)
    print("inner said", done.stdout)
else:
    print(sys.argv[1:])
""",
    )
    same_as_python("again.py")


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_unreadable_script(front):
    front.write("closed.py", "print(1)\n")
    path = front.folder / "closed.py"
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user can read every file")
    got = front.devsan("run", "closed.py")
    assert got.returncode == 2
    assert got.stderr.startswith("devsan: expected a script that can be read, got 'closed.py'")
