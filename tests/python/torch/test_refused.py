"""What a GPU can do and an emulated one cannot: one sentence each, that names the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from devsan.emulation import Emulation

GPU = "cuda:1"


@pytest.mark.parametrize(
    "use",
    [
        torch.cuda.CUDAGraph,
        lambda: torch.cuda.graph(torch.cuda.CUDAGraph()).__enter__(),
        lambda: torch.cuda.make_graphed_callables(torch.nn.Linear(2, 2).to(GPU), (torch.ones(1, 2, device=GPU),)),
    ],
)
def test_cuda_graphs(use: Callable[[], object]) -> None:
    with pytest.raises(NotImplementedError, match=r"^devsan: CUDA graphs are not emulated; see docs/limits\.md$"):
        use()
    assert not torch.cuda.is_current_stream_capturing()


TRITON = """
class JITFunction:
    def __init__(self, fn):
        self.fn = fn
        self.__name__ = fn.__name__

    def run(self, *args, grid, warmup, **kwargs):
        return "ran"

    def warmup(self, *args, grid, **kwargs):
        return "ran"

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)
"""


def test_triton_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_gpus: Emulation) -> None:
    """By a stand-in with Triton's names: the real one is not there in a CPU build of torch."""
    package = tmp_path / "triton" / "runtime"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "jit.py").write_text(TRITON, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
        monkeypatch.delitem(sys.modules, name)

    from triton.runtime.jit import JITFunction

    def add_kernel() -> None:
        pass

    kernel = JITFunction(add_kernel)
    for launch in (kernel[(1,)], lambda t: kernel.warmup(t, grid=(1,))):
        with pytest.raises(
            NotImplementedError, match=r"^devsan: the Triton kernel add_kernel is not emulated; see docs"
        ):
            launch(torch.ones(3, device=GPU))
    two_gpus.stop()
    try:
        assert kernel[(1,)]() == "ran"
    finally:
        two_gpus.start()
        for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
            del sys.modules[name]
