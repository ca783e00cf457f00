"""A program that generates code without end: the records stay within their bytes, what lives keeps its history, and a
report says what was dropped."""

from __future__ import annotations

import gc
import linecache
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
import torch
from torch import fx

from devsan import _core, emulate
from devsan.diagnosis.build import build
from devsan.introspect.frames.chain import failure_of
from devsan.introspect.provenance.shown import provenance_text
from devsan.render.language import language_named
from devsan.sizes import write_size

HISTORY = 2 << 20
MANY = 1500


@pytest.fixture(autouse=True)
def little_room() -> Iterator[None]:
    global HISTORY
    gc.collect()  # cells hold their tensors in circles: those of an earlier test live until then
    with emulate(gpus=2, history=1 << 20):
        living = _core.recorded_bytes()  # what other tests of this process keep alive takes room as well
    HISTORY = (2 << 20) + 2 * (living >> 20 << 20) + (2 << 20 if living > 1 << 19 else 0)
    with emulate(gpus=2, history=HISTORY):
        yield


def where(tensor: torch.Tensor) -> str:
    return provenance_text(tensor)


def cell(number: int) -> CodeType:
    """A cell of a notebook: new code, with functions in it."""
    padding = "\n".join(f"def helper_{each}(x): return [x * {number}, 'text {number} {each}']" for each in range(5))
    return compile(f"{padding}\nmade = torch.zeros(2, device='cuda:1')", f"<cell {number}>", "exec")


def cells(count: int) -> Iterator[tuple[CodeType, torch.Tensor]]:
    for number in range(count):
        code = cell(number)
        scope: dict[str, Any] = {"torch": torch}
        exec(code, scope)
        yield code, scope["made"]


def by_exec() -> None:
    for _ in cells(MANY):
        pass


def by_fx() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(2, device="cuda:0")

    traced = fx.symbolic_trace(Model())
    given = torch.zeros(2, device="cuda:0")
    for _ in range(MANY):
        fx.GraphModule(traced, traced.graph)(given)


def by_stacks() -> None:
    """The same code under ever other stacks."""

    def place(path: int) -> None:
        if path == 0:
            torch.zeros(1, device="cuda:0")
        elif path % 2:
            place(path // 2)
        else:
            place(path // 2 - 1)

    for path in range(1 << 14, (1 << 14) + 4 * MANY):
        place(path)


GENERATORS = (by_exec, by_fx, by_stacks)


@pytest.mark.long
@pytest.mark.parametrize("generate", GENERATORS)
def test_what_was_placed_first_and_lives_keeps_its_history(generate: Callable[[], None]) -> None:
    on_host = torch.ones(3)
    moved = torch.zeros(4).to("cuda:1")
    computed = torch.ones(4, device="cuda:0") * 2
    before = {name: where(each) for name, each in (("host", on_host), ("moved", moved), ("computed", computed))}
    assert "test_budget.py" in before["moved"]
    generate()
    after = {name: where(each) for name, each in (("host", on_host), ("moved", moved), ("computed", computed))}
    assert after == before
    assert _core.recorded_bytes() <= HISTORY + (64 << 10)


@pytest.mark.long
def test_code_that_nothing_needs_is_let_go() -> None:
    alive = weakref.WeakSet(code for code, _ in cells(MANY))
    gc.collect()
    assert len(alive) < MANY // 2


@pytest.mark.long
def test_where_everything_lives_the_newest_is_dropped_and_said_to_be() -> None:
    other = torch.ones(2, device="cuda:0")
    kept = [made for _, made in cells(MANY)]
    assert _core.recorded_bytes() <= HISTORY + (64 << 10)
    first, last = kept[0], kept[-1]
    assert "<cell 0>" in where(first)
    assert f"was dropped: the recorder is full ({write_size(HISTORY)}). Raise it with --history." in where(last)
    report = report_of(lambda: first + other)
    assert report.notes == ()
    report = report_of(lambda: last + other)
    said = [note for note in report.notes if note.startswith("The placement of last was dropped")]
    assert len(said) == 1 and write_size(HISTORY) in said[0] and "--history" in said[0]
    assert language_named("zh").text(said[0]).startswith("last 的放置记录已被丢弃")


@pytest.mark.long
def test_room_that_is_free_again_is_used() -> None:
    kept = [made for _, made in cells(MANY)]
    assert _core.placement(_core.origin_of(kept[-1])[0]) is None
    del kept
    last = [made for _, made in cells(MANY)][-1]
    del last
    by_exec()
    assert any(_core.placement(_core.origin_of(made)[0]) is not None for _, made in cells(200))


def test_a_history_that_was_cut_says_so() -> None:
    kept = torch.zeros(2, device="cuda:0")
    scope: dict[str, Any] = {"kept": kept}
    for number in range(MANY):
        exec(compile(f"kept = kept.to('cuda:{(number + 1) % 2}')", f"<move {number}>", "exec"), scope)
    text = where(scope["kept"])
    assert f"<move {MANY - 1}>" in text
    assert _core.recorded_bytes() <= HISTORY + (64 << 10)


def report_of(fails: Callable[[], object]) -> Any:
    linecache.checkcache()
    try:
        fails()
    except RuntimeError as error:
        failure = failure_of(error, error.__traceback__)
        assert failure is not None
        return build(failure)
    raise AssertionError("expected a mismatch of devices")
