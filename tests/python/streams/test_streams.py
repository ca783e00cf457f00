"""The check of streams: seeded races are found with both places, and correct programs have none."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import correct_streams
import programs
import pytest
import seeded_races
import torch
from torch._subclasses import FakeTensorMode

import devsan
from devsan.streams import watch

PROGRAM = """\
import torch

side = torch.cuda.Stream()
x = torch.ones(4, device="cuda")
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    y = x * 2
print((y + 1).sum().item())
"""


def functions_of(module: ModuleType) -> list[Any]:
    helpers = ("main", "ordered_side")
    return [each for name, each in vars(module).items() if inspect.isfunction(each) and name not in helpers]


def reports_of(program: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(watch, "write", lambda report, stream: found.append(report))
    with devsan.emulate(gpus=2, check="streams"):
        program()
    return found


def marked(program: Any, mark: str) -> int:
    lines, start = inspect.getsourcelines(program)
    return next(start + number for number, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}"))


@pytest.mark.parametrize("program", functions_of(seeded_races), ids=lambda each: each.__name__)
def test_a_seeded_race_is_found_with_both_places(program, monkeypatch):
    found = reports_of(program, monkeypatch)
    assert found
    lines = [site.line for site in found[0].sites]
    first, second = marked(program, "first"), marked(program, "second")
    ends = (lines[0], lines[-1])
    assert ends == ((first, second) if found[0].code == "DV603" else (second, first))


@pytest.mark.parametrize("program", functions_of(correct_streams), ids=lambda each: each.__name__)
def test_a_correct_program_has_no_finding(program, monkeypatch):
    assert [(each.title, [str(site) for site in each.sites]) for each in reports_of(program, monkeypatch)] == []


def test_without_the_option_nothing_is_told(capfd):
    with devsan.emulate(gpus=2):
        seeded_races.side_result_read_early()
    assert "DV602" not in capfd.readouterr().err


def test_fake_tensors_between_two_emulations_leave_the_second_its_streams(monkeypatch):
    """Without a GPU, FakeTensorMode puts a guard of its own in the place of CUDA's (ensureCUDADeviceGuardSet)."""
    with devsan.emulate(gpus=2):
        pass
    with FakeTensorMode():
        torch.empty(1, device="cuda")
    assert reports_of(seeded_races.side_result_read_early, monkeypatch)


def test_the_report_has_the_line_to_insert(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "12.0\n"
    assert "warning[DV602]" in done.stderr
    assert "8 + torch.cuda.current_stream().wait_stream(side)" in done.stderr
    assert "train.py:8" in done.stderr and "train.py:7" in done.stderr


PREFETCHER = """\
import torch

copies = torch.cuda.Stream()

def load(batch):
    with torch.cuda.stream(copies):
        return batch.to("cuda", non_blocking=True)

batches = [torch.ones(4).pin_memory() for _ in range(3)]
later = load(batches[0])
for batch in batches[1:]:
    now, later = later, load(batch)
    print(now.sum().item())
"""


def test_a_pair_of_places_is_told_once_and_its_edit_is_shown_without_indentation(tmp_path):
    (tmp_path / "train.py").write_text(PREFETCHER)
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    assert done.stdout == "4.0\n4.0\n"
    assert done.stderr.count("warning[DV602]") == 1, done.stderr
    assert "13 + torch.cuda.current_stream().wait_stream(copies)\n   14   print(" in done.stderr


WAITED = """\
import torch

copies = torch.cuda.Stream()

def loaded(batches):
    for x, y in batches:
        with torch.cuda.stream(copies):
            pair = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        yield pair
        del pair

weight = torch.ones(4, device="cuda", requires_grad=True)
for x, y in loaded([(torch.ones(4).pin_memory(), torch.ones(4).pin_memory()) for _ in range(4)]):
    loss = ((x * weight - y) ** 2).sum()
    loss.backward()
    del loss
"""


def test_memory_that_the_head_of_a_loop_gives_back_is_recorded_where_the_loop_begins(tmp_path):
    (tmp_path / "train.py").write_text(WAITED)
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    shown = (
        "   15 + x.record_stream(torch.cuda.default_stream())\n"
        "   16 + y.record_stream(torch.cuda.default_stream())\n"
        "   17   loss = "
    )
    assert done.stderr.count(shown) == 1, done.stderr
    assert done.stderr.count("warning[DV603]") + done.stderr.count("\nalso fixed by this change: DV603 train.py:") > 1


GENERATOR = """\
import torch

class Prefetch:
    def __init__(self, data):
        self.data, self.side = data, torch.cuda.Stream()
    def __iter__(self):
        for x in self.data:
            with torch.cuda.stream(self.side):
                y = x.cuda(non_blocking=True)
            yield y

for x in Prefetch([torch.ones(4).pin_memory() for _ in range(3)]):
    print(x.sum().item())
"""


def test_a_stream_that_has_no_name_at_the_later_place_is_waited_for_at_the_earlier_one(tmp_path):
    (tmp_path / "train.py").write_text(GENERATOR)
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    assert "a tensor that stream `self.side` of cuda:0 may still write" in done.stderr
    assert "10 + torch.cuda.current_stream().wait_stream(self.side)" in done.stderr, done.stderr
    lines = GENERATOR.splitlines()
    lines.insert(9, "            torch.cuda.current_stream().wait_stream(self.side)")
    (tmp_path / "train.py").write_text("\n".join(lines))
    mended = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    assert mended.returncode == 0 and "warning[" not in mended.stderr


def test_a_block_that_returns_has_no_line_behind_it(tmp_path):
    text = GENERATOR.replace(
        "            with torch", "            yield self.copied(x)\n    def copied(self, x):\n            with torch"
    ).replace("                y = x", "                return x")
    (tmp_path / "train.py").write_text(text.replace("            yield y\n", ""))
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    assert done.returncode == 0 and "warning[DV602]" in done.stderr
    assert "make the stream wait before this line" in done.stderr and "\n    9 + " not in done.stderr


OFFLOADED = """\
import torch

s = torch.cuda.Stream()

def pack(t):
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        host = torch.empty(t.shape, pin_memory=True)
        host.copy_(t, non_blocking=True)
    return host

def unpack(host):
    with torch.cuda.stream(s):
        t = host.to("cuda", non_blocking=True)
    return t

weight = torch.ones(64, device="cuda", requires_grad=True)
for step in range(2):
    x = torch.ones(64, device="cuda")
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = (weight * x * 2).pow(2).sum()
    loss.backward()
"""


def test_what_hooks_copy_is_ordered_where_they_copy_it(tmp_path):
    """The names at the line that frees it, or that starts the backward pass, are not those of what the hooks copied."""
    (tmp_path / "train.py").write_text(OFFLOADED)
    done = programs.run(["-m", "devsan", "run", "--check", "streams", "train.py"], cwd=tmp_path)
    shown = [line for line in done.stderr.splitlines() if re.match(r" +\d+ \+ ", line)]
    assert "   10 + t.record_stream(torch.cuda.current_stream())" in shown, done.stderr
    assert "   15 + torch.cuda.current_stream().wait_stream(s)" in shown, done.stderr
    assert not any("loss.record_stream" in line or "x.record_stream" in line for line in shown)
