"""Two emulated GPUs for the real libraries, and the question that is asked of a tensor: who placed it, told by what."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import devsan


@dataclass(frozen=True)
class Told:
    """What is known of the placement that decides where a tensor is."""

    device: str
    owner: str
    mechanism: str
    setting: str
    line: str  # of the program, as it is written
    kinds: tuple[str, ...]  # of the whole provenance, newest first

    @property
    def who(self) -> tuple[str, str, str, str]:
        return self.device, self.owner, self.mechanism, self.setting


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):  # what libraries set is taken back
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with devsan.emulate(gpus=2):
        yield
        _forget_groups()


def _forget_groups() -> None:
    """Ends the process group that a library has made, and accelerate's memory of what it found."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
    state = sys.modules.get("accelerate.state")
    if state is not None:
        state.AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def told() -> Callable[[Any], Told]:
    """Returns who placed a tensor."""

    def ask(tensor: Any) -> Told:
        from devsan.introspect.provenance.shown import provenance_of

        provenance = provenance_of(tensor, sys._getframe(1))
        placed = next((event for event in provenance if event.kind.name not in ("COMPUTED", "SHARED")), None)
        assert placed is not None, f"expected a placement of a tensor on {tensor.device}, got {provenance}"
        site = next((frame for frame in placed.stack if frame.package == ""), None)
        line = site.source if site is not None else ""
        kinds = tuple(event.kind.name for event in provenance)
        return Told(str(placed.device), placed.owner.name, placed.owner.mechanism, placed.owner.setting, line, kinds)

    return ask


@pytest.fixture
def one_rank(gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process group of one rank over gloo, which stands for nccl too."""
    import torch.distributed as dist

    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "0")
    dist.init_process_group("cpu:gloo,cuda:gloo", store=dist.HashStore(), rank=0, world_size=1)
