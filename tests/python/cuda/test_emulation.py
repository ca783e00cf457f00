"""Start and stop: what they change, that all of it comes back, and what is refused in one sentence."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest
import torch

import devsan
from devsan import emulate
from devsan.errors import StartError

Run = Callable[..., CompletedProcess[str]]

PLACES: list[Any] = [
    torch._C,
    torch.cuda,
    torch.cuda.streams,
    torch.cuda.graphs,
    torch.cuda.memory,
    torch.cuda.nvtx,
    torch.UntypedStorage,
    torch.Tensor,
    torch.cuda.CUDAGraph,
    torch.cuda.MemPool,
]


def names() -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(place).items()} for place in PLACES]


def test_everything_that_is_replaced_comes_back() -> None:
    with emulate(gpus=2):  # what a first use imports for good
        torch.ones(1, device="cuda:1")
    before = names()
    emulation = emulate(gpus=2).start()
    torch.ones(1, device="cuda:1")
    torch.cuda.manual_seed_all(3)
    assert names() != before
    emulation.stop()
    after = names()
    for place, old, new in zip(PLACES, before, after, strict=True):
        changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        assert changed - {"_queued_calls", "__abstractmethods__"} == set(), place
    assert torch.cuda._initialized is False


def test_torch_is_as_before_after_stop() -> None:
    with emulate(gpus=2):
        tensor = torch.arange(4.0, device="cuda:1")
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1, device="cuda")
    assert torch.ones(2).add(1).tolist() == [2.0, 2.0]
    assert tensor.device == torch.device("cuda:1")  # what is left stays a tensor of its device


def test_stop_twice_and_start_again() -> None:
    for gpus in (1, 3, 2):
        emulation = emulate(gpus=gpus).start()
        assert torch.cuda.device_count() == gpus
        assert torch.ones(1, device=f"cuda:{gpus - 1}").item() == 1
        emulation.stop()
        emulation.stop()


def test_a_second_emulation_is_refused() -> None:
    with emulate(gpus=3):
        with pytest.raises(StartError, match=r"^expected no emulation in this process, got one of 3 GPUs .*stop\(\)"):
            emulate(gpus=2).start()
        assert torch.cuda.device_count() == 3


def test_is_initialized_waits_for_the_first_use() -> None:
    with emulate(gpus=2):
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        assert not torch.cuda.is_initialized()
        torch.ones(1, device="cuda")
        assert torch.cuda.is_initialized()
    assert not torch.cuda.is_initialized()


def test_a_seed_set_before_the_first_use_counts() -> None:
    with emulate(gpus=2):
        torch.manual_seed(11)
        first = torch.rand(3, device="cuda:1")
        torch.manual_seed(11)
        assert torch.equal(first, torch.rand(3, device="cuda:1"))


def test_names_imported_before_the_start_are_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    early: Any = ModuleType("early_importer")
    dummy = early.Stream = torch.cuda.Stream
    monkeypatch.setitem(sys.modules, "early_importer", early)
    with emulate(gpus=1):
        assert early.Stream is torch.cuda.Stream
        assert isinstance(early.Stream(), torch.Stream)
    assert early.Stream is dummy


def stamp(folder: Path, **changes: str) -> Path:
    original = next(path for place in devsan.__path__ if (path := Path(place, "_build.json")).is_file())
    (folder / "_build.json").write_text(json.dumps({**json.loads(original.read_text()), **changes}))
    return folder


@pytest.mark.parametrize("key", ["torch_version", "torch_git_version"])
def test_another_torch_is_refused(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devsan, "__path__", [str(stamp(tmp_path, **{key: "1.2.3"}))])
    with pytest.raises(StartError) as failure:
        emulate(gpus=1).start()
    sentence = str(failure.value)
    assert "1.2.3" in sentence and torch.__version__ in sentence and "pip install" in sentence
    assert "\n" not in sentence
    assert not torch.cuda.is_available()


def test_a_missing_core_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devsan, "__path__", [str(tmp_path)])
    with pytest.raises(StartError, match=r"^expected DevSan's core in .*, got none; .*pip install"):
        emulate(gpus=1).start()


def test_a_core_that_does_not_load_is_refused(run: Run) -> None:
    result = run(
        """
        import sys, devsan
        sys.modules["devsan._core"] = None
        try:
            devsan.emulate(gpus=1).start()
        except devsan.errors.StartError as error:
            print(error)
    """,
        afresh=True,
    )
    assert "expected DevSan's core to load with torch" in result.stdout
    assert "pip install" in result.stdout


def test_cuda_in_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "_initialized", True)
    with pytest.raises(StartError, match="CUDA already initialized; start the emulation before"):
        emulate(gpus=1).start()


def test_starting_costs_little() -> None:
    emulate(gpus=4).start().stop()
    begin = time.process_time()
    emulate(gpus=4).start().stop()
    assert time.process_time() - begin < 1.0  # 0.2 s are promised for a machine that does nothing else


@pytest.mark.long
def test_dynamo_compiles_streams(run: Run) -> None:
    result = run("""
        from devsan import emulate
        emulate(gpus=2).start()
        import torch, torch._dynamo

        @torch.compile(backend="eager")
        def program(x):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                y = x + 1
            stream.synchronize()
            return y

        print(program(torch.ones(2, device="cuda:0")))
    """)
    assert result.stdout.strip() == "tensor([2., 2.], device='cuda:0')"


def test_data_parallel_works_on_a_larger_machine_after_a_smaller_one(run: Run) -> None:
    run(
        """
        import devsan, torch

        for gpus in (2, 4):
            with devsan.emulate(gpus=gpus):
                model = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
                assert model(torch.ones(8, 3)).shape == (8, 2)
        """
    )
