"""Files that a program finds changed, though nobody wrote to them: every way by which a program reads a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from devsan import overlay

HOST = "import module; print(module.VALUE)"


def run(
    folder: Path, changed: Mapping[str, str], *words: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs python in ``folder``, whose files ``changed`` it is to see with these texts."""
    laid = folder / "laid"
    laid.mkdir()
    overlay.write(laid, {str(folder / name): text for name, text in changed.items()})
    env = overlay.environment(laid, {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environ or {})})
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def printed(*args: object, **named: object) -> str:
    done = run(*args, **named)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_an_imported_module(tmp_path):
    write(tmp_path, {"module.py": "VALUE = 1\n", "main.py": HOST})
    subprocess.run([sys.executable, "-c", "import module"], cwd=tmp_path, check=True)  # there is a .pyc now
    assert list(tmp_path.glob("__pycache__/module*.pyc"))
    assert printed(tmp_path, {"module.py": "VALUE = 2\n"}, "main.py") == "2\n"
    assert (tmp_path / "module.py").read_text(encoding="utf-8") == "VALUE = 1\n"


def test_packages_and_their_modules(tmp_path):
    write(tmp_path, {"pack/__init__.py": "A = 1\n", "pack/inner/__init__.py": "", "pack/inner/deep.py": "B = 1\n"})
    changed = {"pack/__init__.py": "A = 2\n", "pack/inner/deep.py": "from pack import A\nB = A + 1\n"}
    assert printed(tmp_path, changed, "-c", "import pack.inner.deep as d; print(d.B, d.__file__)").startswith("3 ")


def test_the_script_itself_under_plain_python(tmp_path):
    write(tmp_path, {"main.py": "print('old')\n"})
    new = "import sys\nprint('new', sys.argv, __name__, __file__.endswith('main.py'))\n"
    assert printed(tmp_path, {"main.py": new}, "-u", "main.py", "x") == "new ['main.py', 'x'] __main__ True\n"


def test_the_script_itself_under_devsan_run(tmp_path):
    write(tmp_path, {"main.py": "print('old')\n"})
    words = ("-m", "devsan", "run", "--gpus", "real", "main.py", "x")
    assert printed(tmp_path, {"main.py": "import sys\nprint('new', sys.argv)\n"}, *words) == "new ['main.py', 'x']\n"


@pytest.mark.parametrize("words", [("-m", "pack.main"), ("-m", "devsan", "run", "--gpus", "real", "-m", "pack.main")])
def test_a_module_that_is_run(tmp_path, words):
    write(tmp_path, {"pack/__init__.py": "", "pack/main.py": "print('old')\n"})
    assert printed(tmp_path, {"pack/main.py": "print('new', __name__)\n"}, *words) == "new __main__\n"


def test_children(tmp_path):
    child = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\n"
    write(tmp_path, {"main.py": child, "child.py": "print('old')\n"})
    assert printed(tmp_path, {"child.py": "print('new')\n"}, "main.py") == "new\n"


def test_children_that_are_spawned_find_main_again(tmp_path):
    text = (
        "import multiprocessing as m\nVALUE = 1\ndef work():\n    print(VALUE)\n"
        "if __name__ == '__main__':\n    p = m.get_context('spawn').Process(target=work)\n    p.start()\n    p.join()\n"
    )
    write(tmp_path, {"main.py": text})
    assert printed(tmp_path, {"main.py": text.replace("VALUE = 1", "VALUE = 2")}, "main.py") == "2\n"


READS = {
    "open": "print(open('c.json').read())",
    "open with a keyword": "print(open(file='c.json', mode='r', encoding='utf-8').read())",
    "json.load": "import json; print(json.dumps(json.load(open('c.json'))))",
    "bytes": "print(open('c.json', 'rb').read().decode())",
    "read_text": "import pathlib; print(pathlib.Path('c.json').read_text())",
    "read_bytes": "import pathlib; print(pathlib.Path('c.json').read_bytes().decode())",
    "Path.open": "import pathlib; print(pathlib.Path('c.json').open().read())",
    "another folder": "import os; os.makedirs('x'); os.chdir('x'); print(open('../c.json').read())",
    "a link": "import os; os.symlink('c.json', 'd.json'); print(open('d.json').read())",
    "lines": "print(''.join(line for line in open('c.json')))",
    "with": "with open('c.json') as f:\n    print(f.read())\nassert f.closed and f.name == 'c.json'",
    "codecs": "import codecs; print(codecs.open('c.json', encoding='utf-8').read())",
}


@pytest.mark.parametrize("name", READS)
def test_reading_a_configuration(tmp_path, name):
    write(tmp_path, {"c.json": '{"a": 1}'})
    assert json.loads(printed(tmp_path, {"c.json": '{"a": 2}'}, "-W", "ignore", "-c", READS[name])) == {"a": 2}


def test_an_empty_text_is_a_text(tmp_path):
    write(tmp_path, {"c.json": "{}"})
    assert printed(tmp_path, {"c.json": ""}, "-c", "print(repr(open('c.json').read()))") == "''\n"


def test_what_is_written_is_written(tmp_path):
    write(tmp_path, {"c.json": "{}"})
    text = "open('c.json', 'a').write('x'); open('other', 'w').write('y')"
    run(tmp_path, {"c.json": "[]"}, "-c", text)
    assert (tmp_path / "c.json").read_text(encoding="utf-8") == "{}x"
    assert (tmp_path / "other").read_text(encoding="utf-8") == "y"


def test_source_that_is_asked_for(tmp_path):
    write(tmp_path, {"module.py": "def f():\n    return 1\n"})
    text = (
        "import inspect, linecache, module\n"
        "print(inspect.getsource(module.f))\nprint(linecache.getline(module.__file__, 3))"
    )
    out = printed(tmp_path, {"module.py": "\n# above\ndef f():\n    return 2\n"}, "-c", text)
    assert "return 2" in out and out.endswith("def f():\n\n")


def test_a_traceback_shows_the_new_text(tmp_path):
    write(tmp_path, {"main.py": "print('old')\n"})
    done = run(tmp_path, {"main.py": "import traceback\ntry:\n    raise ValueError\nexcept ValueError:\n"
                          "    traceback.print_exc()\n"}, "main.py")  # fmt: skip
    assert "line 3, in <module>\n    raise ValueError" in done.stderr


def test_a_sitecustomize_of_the_users_runs_too(tmp_path):
    write(tmp_path, {"site/sitecustomize.py": "import builtins\nbuiltins.OWN = 5\n", "module.py": "VALUE = 1\n"})
    out = printed(
        tmp_path,
        {"module.py": "VALUE = 2\n"},
        "-c",
        f"{HOST}; print(OWN)",
        environ={"PYTHONPATH": str(tmp_path / "site")},
    )
    assert out == "2\n5\n"


def test_zip_files_are_as_they_are(tmp_path):
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as pack:
        pack.writestr("zipped.py", "VALUE = 1\n")
    text = "import sys; sys.path.insert(0, 'pack.zip'); import zipped; print(zipped.VALUE)"
    out = printed(tmp_path, {"zipped.py": "VALUE = 2\n"}, "-c", text)
    assert out == "1\n"


def test_a_file_that_is_not_there_is_one_in_the_overlay(tmp_path):
    assert printed(tmp_path, {"new.json": "7"}, "-c", "print(open('new.json').read())") == "7\n"


def test_other_files_and_descriptors_are_left_alone(tmp_path):
    write(tmp_path, {"other.txt": "as it is", "c.json": "{}"})
    text = (
        "import os; print(open('other.txt').read(), open(os.open('c.json', os.O_RDONLY)).read())\n"
        "try: open('missing.txt')\nexcept FileNotFoundError as e: print(e.filename)"
    )
    assert printed(tmp_path, {"c.json": "[]"}, "-c", text) == "as it is {}\nmissing.txt\n"


def test_without_an_overlay_nothing_is_replaced():
    import builtins
    import io

    assert builtins.open is io.open
    assert overlay.environment(None, {"PYTHONPATH": overlay.STARTUP, "DEVSAN_OVERLAY": "x"}) == {}
