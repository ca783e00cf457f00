"""Files as they come: folders, broken ones, strange ones, many of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.source import check
from devsan.doctor.source import many as many_files
from devsan.doctor.source.files import python_files

FAULTY = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + torch.zeros(4)\n"


class Launch:
    ranks = 4


BROKEN = {
    "syntax": (b"import torch\ndef f(:\n", "expected Python source"),
    "python 2": (b"import torch\nprint 'x'\n", "expected Python source"),
    "zero bytes": (b"import torch\0\0", "expected Python source"),
    "utf-16": ("import torch\n".encode("utf-16"), "expected text in the encoding that it declares"),
    "latin-1 undeclared": (b"# caf\xe9\nimport torch\n", "expected text in the encoding that it declares"),
    "unknown encoding": (b"# -*- coding: klingon -*-\nimport torch\n", "expected text in the encoding"),
    "indentation": (b"import torch\n  x = 1\n", "expected Python source"),
    "notebook": (b'{"cells": [{"source": ["import torch\\n"]}], "metadata": null}', None),
    "deep": (b"import torch\nx = " + b"(" * 3000 + b")" * 3000, "expected Python source"),
    "elf": (b"\x7fELF\x02\x01\x01\x00torch", "expected"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_sentence_and_the_others_are_checked(name: str, tmp_path: Path):
    content, sentence = BROKEN[name]
    broken, good = tmp_path / "broken.py", tmp_path / "good.py"
    broken.write_bytes(content)
    good.write_text(FAULTY)
    result = check([broken, good])
    assert [finding.code for finding in result.findings] == ["DV102"]
    if sentence is None:
        assert result.notes == []
    else:
        (note,) = result.notes
        assert note.startswith(str(broken)) and sentence in note and "\n" not in note


STRANGE = {
    "empty": b"",
    "only a comment": b"# torch",
    "form feeds": b"import torch\n\x0c\n\x0cx = torch.zeros(3)\n",
    "carriage returns": b"import torch\rx = torch.zeros(3)\r",
    "byte order mark": b"\xef\xbb\xbfimport torch\n",
    "no last line end": b"import torch",
    "surrogates": b"import torch\nx = '\\udc80'\n",
    "invalid escapes": b"import torch\nx = '\\d'\n",
    "latin-1": b"# -*- coding: latin-1 -*-\n# caf\xe9\nimport torch\n",
    "all statements": b"""
import torch, os, sys
from torch import *
from . import sibling
async def f(a, /, b, *c, d=1, **e):
    async with a as (x, *y): await x
    async for z in y: yield z
    global G; G = lambda *q, **w: (q, w)
    return
@property
class C(sibling.B, metaclass=type):
    x: int = 3
    def __getattr__(self, name): return getattr(torch.nn, name)(*self, **{**name})
match sys.argv:
    case [_, *rest] if rest: del rest
    case {"a": 1, **more}: pass
    case _: raise SystemExit from None
with open(os.devnull) as a, a as b: b[0:1, ..., None] = a[::2]
try: assert G, "x"
except* ValueError as error: print(f"{error!r:>{10}}")
else: nonlocal_ = [*{i for i in (y := range(3)) if i}, *{i: i for i in y}]
finally: G @= G; G[0] += -G[1] if not G else ~G
x = y = z = (1, *[2], {**{}}, {1}, 1 < 2 < 3, 1 in [1], a and b or not c, "%s" % 3, f"cuda:{x}", b"x", ...)
while x: break
else: pass
""",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_file_is_checked(name: str, tmp_path: Path):
    path = tmp_path / "strange.py"
    path.write_bytes(STRANGE[name])
    result = check([path])
    newer_syntax = name == "all statements" and result.notes and "expected Python source" in result.notes[0]
    assert result.notes == [] or newer_syntax
    assert result.findings == []


def test_what_is_not_there_is_one_sentence(tmp_path: Path):
    result = check([tmp_path / "missing.py"])
    assert result.findings == [] and result.files == 0
    (note,) = result.notes
    assert "expected a file that can be read" in note


def test_positions_count_characters(tmp_path: Path):
    path = tmp_path / "wide.py"
    path.write_text(FAULTY.replace("x + torch", "x * len('日本語') + torch"), encoding="utf-8")
    (finding,) = check([path]).findings
    assert finding.place is not None
    assert (finding.place.line, finding.place.column) == (6, 33)
    assert path.read_text(encoding="utf-8").splitlines()[5][32:] == "torch.zeros(4)"


def test_folders_without_what_is_installed(tmp_path: Path):
    for name in ("a.py", "b/c.py", "b/.hidden/d.py", "venv/lib/e.py", "env/f.py", "b/__pycache__/g.py", "h.txt",
                 "x/site-packages/i.py"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    found = [str(path.relative_to(tmp_path)) for path in python_files([tmp_path, tmp_path / "a.py"])]
    assert found == ["a.py", "b/c.py"]
    assert list(python_files([tmp_path / "venv/lib/e.py"])) == [tmp_path / "venv/lib/e.py"], "what is named is checked"


def test_the_launch_says_that_there_are_ranks(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text("import torch\nmodel = torch.nn.Linear(2, 2).cuda()\n")
    assert check([path]).findings == []
    (finding,) = check([path], Launch()).findings
    assert finding.code == "DV115" and "the launch command starts 4 ranks" in finding.evidence


def test_a_launch_of_one_process_is_believed(tmp_path: Path):
    class One:
        ranks = 1

    path = tmp_path / "train.py"
    path.write_text('import torch\ntorch.distributed.init_process_group("nccl")\nx = torch.zeros(2).cuda()\n')
    assert [finding.code for finding in check([path]).findings] == ["DV115"]
    assert check([path], One()).findings == []


def test_many_files_are_checked_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(6):
        (tmp_path / f"{number}.py").write_text(FAULTY + f"# {number}\n")
    (tmp_path / "broken.py").write_text("import torch\n(")
    alone = check([tmp_path])
    monkeypatch.setattr(many_files, "_WORTH_IT", 0)
    together = check([tmp_path])
    assert together == alone
    assert (together.files, len(together.findings), len(together.notes)) == (6, 6, 1)


def test_what_calls_itself_in_many_ways_comes_to_an_end(tmp_path: Path):
    path = tmp_path / "ways.py"
    calls = "\n".join(f"    f{number}(x); f{number}(x); f{number}(x)" for number in range(40))
    functions = "\n".join(f"def f{number}(x):\n{calls}" for number in range(40))
    path.write_text(f"import torch\n{functions}\n\n{FAULTY}")
    result = check([path])
    (note,) = result.notes
    assert "too long to be followed to its end" in note
    assert [finding.code for finding in result.findings] == ["DV102"], "the rest of the file has its own share"
