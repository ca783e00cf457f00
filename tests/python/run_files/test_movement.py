"""What moved between devices, read while the program goes on."""

from __future__ import annotations

import time

import pytest
import torch

import devsan
from devsan import core
from devsan.run_files.movement import Movement


def test_what_could_not_be_read_is_read_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with devsan.emulate(gpus=1):
        core.start_timeline()
        movement = Movement(time.monotonic_ns())
        read = movement._reader.from_placement
        calls: list[int] = []

        def failing(number: int) -> list[core.Event]:
            calls.append(number)
            if len(calls) == 2:
                raise RuntimeError("dictionary changed size during iteration")
            return read(number)

        monkeypatch.setattr(movement._reader, "from_placement", failing)
        torch.ones(3).to("cuda")
        torch.ones(4).to("cuda")
        with pytest.raises(RuntimeError):
            movement.fetch()
        torch.ones(5).to("cuda")
        places, transfers, _ = movement.fetch()
        core.stop_timeline()
    assert [place["bytes"] for place in places] == [12, 16, 20]
    assert [row[4] for row in transfers] == [12, 16, 20]
    assert len({place["id"] for place in places} & {row[0] for row in transfers}) == 3
