"""What a process shows, read from outside: the steps a minute, and files that are none."""

from __future__ import annotations

import struct

import pytest

from devsan.running import gauges

FORMAT = 0x31304741535644
SECOND = 10**9
NOW = 1000 * SECOND


def write(path, steps=0, times=(), gpus=(), form=FORMAT):
    times = [*times, *([0] * (32 - len(times)))]
    rows = [word for row in gpus for word in row]
    words = [form, steps, *times, *rows, *([0] * (3 * 64 - len(rows)))]
    path.write_bytes(struct.pack(f"={len(words)}Q", *words))
    return str(path)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(gauges.time, "monotonic_ns", lambda: NOW)


def test_memory_by_gpu(tmp_path):
    found = gauges.read(write(tmp_path / "a", gpus=[(1, 2, 3), (4, 5, 6)]))
    assert found is not None
    assert found.gpus[:3] == (gauges.Memory(1, 2, 3), gauges.Memory(4, 5, 6), gauges.Memory(0, 0, 0))
    assert (found.steps, found.per_minute, len(found.gpus)) == (0, None, 64)


@pytest.mark.parametrize(
    ("steps", "times", "expected"),
    [
        (1, [NOW], None),
        (2, [NOW - SECOND, NOW], 60.0),
        (3, [NOW - 3 * SECOND, NOW - 2 * SECOND, NOW - SECOND], 60.0),  # the fourth is about to end
        (3, [NOW - 102 * SECOND, NOW - 101 * SECOND, NOW - 100 * SECOND], 60 / 34),  # it has been long in coming
        # 33 steps: the newest has taken the place of the oldest
        (33, [NOW, *(NOW - (32 - step) * 2 * SECOND for step in range(1, 32))], 30.0),
    ],
)
def test_steps_a_minute(tmp_path, steps, times, expected):
    found = gauges.read(write(tmp_path / "a", steps, times))
    assert found is not None
    assert found.steps == steps
    assert found.per_minute == (None if expected is None else pytest.approx(expected))


def test_what_is_no_such_file(tmp_path):
    assert gauges.read(str(tmp_path / "none")) is None
    assert gauges.read(write(tmp_path / "other", form=FORMAT + 1)) is None
    whole = write(tmp_path / "whole")
    for size in (0, 8, len((tmp_path / "whole").read_bytes()) - 1):
        (tmp_path / "part").write_bytes((tmp_path / "whole").read_bytes()[:size])
        assert gauges.read(str(tmp_path / "part")) is None
    assert gauges.read(whole) is not None
