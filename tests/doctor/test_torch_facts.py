"""torch that is whole, broken, hanging or missing; stood in for by folders called torch."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from devsan.doctor.torch_facts import ask_torch, read_torch

VERSION = "__version__ = '2.9.1+cu126'\ndebug = False\ncuda: Optional[str] = '12.6'\nhip: Optional[str] = None\n"
WHOLE = """
from types import SimpleNamespace as N
from torch import version as _version
__version__ = "2.9.1+cu126"
version = N(cuda="12.6", hip=None)
def _refuse():
    raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")
_C = N(_cuda_getArchFlags=lambda: "sm_80 sm_90 compute_90", _cuda_init=_refuse)
cuda = N(is_available=lambda: False, device_count=lambda: 0, nccl=N(version=lambda: (2, 27, 5)))
backends = N(cudnn=N(version=lambda: 91002))
print("hello from torch")
"""


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "torch"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text: str, version: str | None = VERSION) -> None:
        (folder / "__init__.py").write_text(text)
        if version is not None:
            (folder / "version.py").write_text("from typing import Optional\n" + version)

    # The process may have the real torch; what the doctor reads is what Python would find anew.
    monkeypatch.delitem(__import__("sys").modules, "torch", raising=False)
    return write


def test_it_is_asked_in_a_child(torch):
    torch(WHOLE)
    found = ask_torch(30)
    assert (found.state, found.version, found.cuda, found.available) == ("ok", "2.9.1+cu126", "12.6", False)
    assert found.archs == ("sm_80", "sm_90", "compute_90")
    assert (found.nccl, found.cudnn) == ("2.27.5", "91002")
    assert found.sentence.startswith("The NVIDIA driver on your system is too old")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("raise ImportError('libcudnn.so.9: cannot open shared object file')",
         "ImportError: libcudnn.so.9: cannot open shared object file"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import torch is killed by SIGSEGV"),
        ("import os; os._exit(3)", "import torch exits with code 3"),
        ("", "AttributeError: module 'torch' has no attribute '__version__'"),
    ],
)  # fmt: skip
def test_a_broken_one(torch, text, sentence):
    torch(text)
    found = ask_torch(30)
    assert (found.state, found.version, found.cuda) == ("broken", "2.9.1+cu126", "12.6")
    assert found.sentence.startswith(sentence)


def test_one_that_does_not_end(torch):
    torch("import time; time.sleep(60)")
    start = time.monotonic()
    assert ask_torch(0.5).state == "hanging"
    assert time.monotonic() - start < 30  # it would take 60


@pytest.mark.parametrize("version", [None, "\x00", "cuda = 3"])
def test_files_that_say_nothing(torch, version):
    torch("x = 1", version)
    assert read_torch().state == "unasked"
