"""The time that a diagnosis may take."""

from __future__ import annotations

import time

import pytest

from devsan.introspect.deadline import Late, look, within


def spin() -> None:
    while True:
        look()


def test_time_is_up() -> None:
    with pytest.raises(Late):
        within(0.01, spin)
    assert within(10, lambda: 3) == 3


def test_time_in_which_the_thread_does_nothing_counts_a_fifth() -> None:
    def wait() -> int:
        time.sleep(0.6)
        for _ in range(100):
            look()
        return 3

    assert within(0.5, wait) == 3
    with pytest.raises(Late):
        within(0.1, wait)
