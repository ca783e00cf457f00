"""The state of a sweep: kept line by line, read back, and safe from a kill and from a second sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.diagnostics.messages import Message, message
from devsan.errors import DevsanError
from devsan.sweep.result import CellResult, Check, Group, GroupFix
from devsan.sweep.state import State

REASON = message("killed by {signal}", signal="SIGKILL")
CELL = CellResult("k1", "gpus=2", {"gpus": "2"}, "killed", 1.5, -9, REASON, "last words", "g1")
GROUP = Group("g1", "killed", "", "", REASON, "", (), "gpus=2", None, "last words")
FIX = GroupFix("gpus=2", {"fixes": [], "patch": None}, (Check("gpus=3", "verified"),))


def test_it_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "sweep.jsonl"
    with State(path) as state:
        state.add(CELL, GROUP)
        state.add_fix("g1", FIX)
    with State(path) as state:
        assert (state.cells, state.groups, state.fixes) == ({"k1": CELL}, {"g1": GROUP}, {"g1": FIX})
        kept = state.cells["k1"].reason
        assert isinstance(kept, Message) and kept.id == "killed by {signal}", "it can be said in another language"


def test_the_last_one_counts_and_a_group_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    with State(path) as state:
        for key in ("k1", "k2"):
            state.add(CellResult(key, "", {}, "killed", group="g1"), GROUP)
        state.add(CellResult("k1", "", {}, "passed"), None)
    with State(path) as state:
        assert state.cells["k1"].status == "passed" and len(state.cells) == 2
    assert path.read_text(encoding="utf-8").count('"record": "group"') == 1


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    with State(path) as state:
        state.add(CELL, None)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + '{"record": "cell", "key": "k2", "na', encoding="utf-8")
    with State(path) as state:
        assert list(state.cells) == ["k1"]
        state.add(CellResult("k3", "", {}, "passed"), None)
    with State(path) as state:
        assert list(state.cells) == ["k1", "k3"], "what follows the cut stands on a line of its own"


def test_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    with State(path) as state:
        state.add(CELL, None)
    with State(path, fresh=True) as state:
        assert state.cells == {}
    with State(path) as state:
        assert state.cells == {}


def test_two_sweeps_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    with (
        State(path),
        pytest.raises(DevsanError, match=r"^expected one sweep with the state .*, got another that runs$"),
    ):
        State(path, fresh=True).__enter__()


@pytest.mark.parametrize("text", ["hello\n", '{"record": "run"}\n'])
def test_another_file_is_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DevsanError, match=r"which is something else$"):
        State(path, fresh=True).__enter__()
    assert path.read_text(encoding="utf-8") == text


def test_a_state_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    path.write_text('{"record": "sweep", "version": 99}\n', encoding="utf-8")
    with pytest.raises(DevsanError, match=r"^expected a state of version 1, got .* of version 99$"):
        State(path).__enter__()
