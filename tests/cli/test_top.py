"""``devsan top`` beside real rehearsals: what it shows while they run, and what is left of them."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devsan.cli.main import main
from devsan.render.language import language_named
from devsan.render.terminal.text import display_width
from devsan.render.terminal.top import rehearsal_lines
from devsan.running.gauges import Memory
from devsan.running.rehearsals import Gpu, Holder, Process, Rehearsal

MIB = 1 << 20
BESIDE = """\
import sys, torch
held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:1")
print("ready", flush=True)
sys.stdin.read()
"""
RANKS = """\
import os, sys, time, torch, torch.distributed as dist
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
model = torch.nn.Linear(1024, 1024, bias=False).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(range(6)):
    if batch == 5:
        break
    model(torch.ones(1, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
held = torch.empty((rank + 1) << 30, dtype=torch.uint8, device="cuda:0")
dist.barrier()
os.write(1, b"ready\\n")
time.sleep(100)
"""


class Desk:
    """Starts programs in a folder, all with the same folder for temporary files, and devsan top beside them.

    Attributes:
        folder: of the programs.
        temporary: the folder for temporary files.
        environment: of all of them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        kept = {key: text for key, text in os.environ.items() if not key.startswith(("DEVSAN", "XDG_", "LC_", "LANG"))}
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**kept, "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1", "PATH": path}
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str, ready: int = 1, **environment: str) -> subprocess.Popen[str]:
        """Starts ``python <words>``, and waits until it has said so as often as it has ranks."""
        process = subprocess.Popen(
            [sys.executable, *words], cwd=self.folder, env={**self.environment, **environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._started.append(process)
        assert process.stdout is not None
        for _ in range(ready):
            assert process.stdout.readline() == "ready\n"
        return process

    def top(self, *words: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "devsan", "top", *words], cwd=self.folder, env={**self.environment, **environment},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def running(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.top("--json"))
        return found

    def left(self) -> list[str]:
        return [str(path) for path in self.temporary.rglob("devsan*")]

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=30)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.end()


def test_where_nothing_runs(desk):
    assert desk.top() == "no rehearsal of yours runs on this machine\n"
    assert desk.top("--json") == "[]\n"
    assert desk.top("--once", "--lang", "zh", PYTHONIOENCODING="utf-8") == "本机上没有你正在运行的模拟作业\n"


def test_a_program_while_it_runs_and_after_it(desk):
    (desk.folder / "train.py").write_text(BESIDE, encoding="utf-8")
    process = desk.start("-m", "devsan", "run", "--gpus", "2:l4-24g", "--used-memory", "1GiB,0", "train.py", "a b")
    [found] = desk.running()
    assert found["command"] == ["devsan", "run", "--gpus", "2:l4-24g", "--used-memory", "1GiB,0", "train.py", "a b"]
    assert found["pid"] == process.pid
    assert 0 < found["seconds"] < 100
    [own] = found["processes"]
    assert (own["pid"], own["rank"], own["steps"], own["per_minute"]) == (process.pid, None, 0, None)
    assert (own["last"], own["seconds_left"]) == (None, None)
    assert found["resident"] >= own["resident"] > 100 * MIB
    first, second = found["gpus"]
    assert (first["profile"], first["busy"], first["holders"]) == ("l4-24g", 1 << 30, [])
    assert second["holders"] == [{"pid": process.pid, "rank": None, "memory": second["memory"]}]
    assert (second["memory"]["allocated"], second["memory"]["reserved"]) == (64 * MIB, 64 * MIB)
    assert second["memory"]["used"] == 64 * MIB + 450 * MIB

    lines = desk.top().splitlines()
    assert lines[0] == "devsan run --gpus 2:l4-24g --used-memory 1GiB,0 train.py 'a b'"
    assert "2 l4-24g, no optimizer step yet" in " ".join(lines[1:3])
    rows = [line.split() for line in lines if line.startswith("cuda:") or "pid" in line or "programs" in line]
    assert [row[:2] for row in rows] == [
        ["cuda:0", "[=.............]"], ["other", "programs"], ["cuda:1", "[=.............]"],
        ["pid", str(process.pid)],
    ]  # fmt: skip
    assert rows[3][2:] == ["514", "MiB", "64", "MiB", "64", "MiB"]

    assert process.communicate(timeout=60)[0] == ""
    assert (desk.running(), desk.left()) == ([], [])


@pytest.mark.long
def test_the_ranks_of_a_launch(desk):
    (desk.folder / "train.py").write_text(RANKS, encoding="utf-8")
    words = ("run", "--gpus", "2", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    process = desk.start("-m", "devsan", *words, ready=2)
    [found] = desk.running()
    assert (found["command"], found["pid"]) == (["devsan", *words], process.pid)
    ranks = {each["rank"]: each for each in found["processes"] if each["rank"] is not None}
    assert sorted(ranks) == [0, 1]
    assert [ranks[0]["steps"], ranks[1]["steps"]] == [5, 5]
    assert ranks[0]["per_minute"] > 0
    assert (ranks[0]["last"], ranks[0]["of_pass"]) == (6, True) and ranks[0]["seconds_left"] > 0
    assert found["resident"] > ranks[0]["resident"] + ranks[1]["resident"]
    first, second = found["gpus"]
    assert [each["rank"] for each in first["holders"]] == [0, 1]
    assert [each["pid"] for each in first["holders"]] == [ranks[0]["pid"], ranks[1]["pid"]]
    held = [each["memory"]["allocated"] for each in first["holders"]]
    assert held[1] == 2 << 30  # rank 1 has its model elsewhere
    assert held[0] > 1 << 30
    assert first["memory"]["allocated"] == sum(held)
    assert [each["rank"] for each in second["holders"]] == [1]
    assert "5 steps" in desk.top() and "2 ranks" in desk.top() and "  rank 1  pid" in desk.top()

    os.kill(ranks[1]["pid"], signal.SIGKILL)
    until = time.monotonic() + 30
    while desk.running() and time.monotonic() < until:
        time.sleep(0.1)
    assert process.wait(timeout=60) == 1
    assert (desk.running(), desk.left()) == ([], [])


EMULATES = """\
import sys, devsan, torch
with devsan.emulate(gpus=1, memory="2GiB"):
    held = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    print("ready", flush=True)
    sys.stdin.readline()
del held
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("place", ["runtime", "temporary"])
def test_an_emulation_of_no_job(desk, place):
    runtime = {}
    if place == "runtime":
        (desk.folder / "session").mkdir(mode=0o700)
        runtime = {"XDG_RUNTIME_DIR": str(desk.folder / "session")}
    process = desk.start("-c", EMULATES, **runtime)
    [found] = json.loads(desk.top("--json", **runtime))
    assert (found["pid"], found["command"][:2]) == (process.pid, ["python", "-c"])
    assert [(gpu["total"], gpu["memory"]["allocated"]) for gpu in found["gpus"]] == [(2 << 30, 100 * MIB)]
    [announcement] = desk.folder.rglob(f"{process.pid}-*.json")
    assert announcement.parent.name in ("devsan", f"devsan-{os.getuid()}")
    assert announcement.parent.stat().st_mode & 0o777 == 0o700
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    assert json.loads(desk.top("--json", **runtime)) == []  # the emulation has ended, and the process goes on
    assert not announcement.parent.exists()


def test_what_a_killed_process_leaves_is_removed(desk):
    process = desk.start("-c", EMULATES)
    assert len(desk.left()) == 1
    process.kill()
    process.wait(timeout=30)
    [folder] = desk.temporary.glob("devsan-*")
    assert len(list(folder.iterdir())) == 3
    assert desk.running() == []
    assert list(folder.iterdir()) == []


def _others_can_read(desk: Desk) -> None:
    (desk.temporary / f"devsan-{os.getuid()}").mkdir(mode=0o755)


def _is_a_link(desk: Desk) -> None:
    (desk.folder / "elsewhere").mkdir(mode=0o700)
    (desk.temporary / f"devsan-{os.getuid()}").symlink_to(desk.folder / "elsewhere")


def _is_a_file(desk: Desk) -> None:
    (desk.temporary / f"devsan-{os.getuid()}").write_text("")


@pytest.mark.parametrize("spoil", [_others_can_read, _is_a_link, _is_a_file])
@pytest.mark.long
def test_a_folder_that_is_not_this_users_alone(desk, spoil: Callable[[Desk], None]):
    """The program runs as ever, and is not seen."""
    spoil(desk)
    process = desk.start("-c", EMULATES)
    assert desk.running() == []
    assert not list(desk.folder.rglob("*.gauges"))
    process.communicate("\n", timeout=60)
    assert process.returncode == 0


def test_a_disk_that_is_full(desk):
    """As the kernel says it here: no file may be larger than 1 KiB."""
    program = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n{EMULATES}"
    process = desk.start("-B", "-c", program)
    assert desk.running() == []
    out, _ = process.communicate("\n", timeout=60)
    assert (process.returncode, out) == (0, "ready\n")
    assert desk.left() == []


def test_a_fork_shows_its_own_memory_and_leaves_its_parents(desk):
    """A child of a process that has not used its GPUs yet may use them."""
    program = """\
import os, sys, torch
if os.fork() == 0:
    held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:1")
    os.write(1, b"ready\\n")
    sys.stdin.readline()
    sys.exit()
held = torch.empty(32 << 20, dtype=torch.uint8, device="cuda:0")
os.write(1, b"ready\\n")
os.wait()
if os.fork() == 0:
    del held
    sys.exit()
os.wait()
os.write(1, b"ready\\n")
sys.stdin.read()
"""
    (desk.folder / "forks.py").write_text(program, encoding="utf-8")
    process = desk.start("-m", "devsan", "run", "--gpus", "2", "forks.py", ready=2)
    [found] = desk.running()
    [parent], [child] = (gpu["holders"] for gpu in found["gpus"])
    assert (parent["pid"], parent["memory"]["allocated"]) == (process.pid, 32 * MIB)
    assert child["pid"] != process.pid
    assert child["memory"]["allocated"] == 64 * MIB
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    [found] = desk.running()  # the second child has freed what is its parent's, and has shown nothing
    assert [[each["pid"] for each in gpu["holders"]] for gpu in found["gpus"]] == [[process.pid], []]
    assert found["gpus"][0]["memory"]["allocated"] == 32 * MIB


def test_visible_devices_are_counted_as_the_machine_counts(desk):
    process = desk.start("-m", "devsan", "run", "--gpus", "3", "-c", BESIDE, CUDA_VISIBLE_DEVICES="2,0")
    [found] = desk.running()
    assert [[each["pid"] for each in gpu["holders"]] for gpu in found["gpus"]] == [[process.pid], [], []]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.long
def test_on_a_terminal_until_it_is_stopped(desk, number):
    (desk.folder / "train.py").write_text(BESIDE, encoding="utf-8")
    process = desk.start("-m", "devsan", "run", "--gpus", "2", "train.py")
    main_side, other_side = pty.openpty()
    top = subprocess.Popen(
        [sys.executable, "-m", "devsan", "top", "--interval", "0.2"], stdin=other_side, stdout=other_side,
        stderr=other_side, env={**desk.environment, "TERM": "xterm", "NO_COLOR": "1"}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    os.close(other_side)
    shown = _read(main_side, lambda text: text.count("\x1b[H") >= 3)
    assert "\x1b[?1049h" in shown
    assert f"pid {process.pid}" in shown
    process.communicate(timeout=60)
    assert "no rehearsal of yours runs" in _read(main_side, lambda text: "no rehearsal" in text)
    top.send_signal(number)
    assert _read(main_side, lambda text: text.endswith("\x1b[?1049l")).endswith("\x1b[?1049l")
    assert top.wait(timeout=30) == 0
    os.close(main_side)


def _read(file: int, is_enough: Callable[[str], bool]) -> str:
    text = ""
    until = time.monotonic() + 30
    while not is_enough(text) and time.monotonic() < until:
        if select.select([file], [], [], 0.1)[0]:
            try:
                text += os.read(file, 1 << 16).decode()
            except OSError:  # the other side is closed
                break
    return text


@pytest.mark.parametrize("text", ["0", "-1", "nan", "soon", "inf"])
def test_an_interval_that_is_none(text, capsys):
    assert main(["top", "--interval", text]) == 2
    assert capsys.readouterr().err == f"devsan: expected 0.1 to 3600 seconds, got {text!r}\n"


def rehearsal(**changes: Any) -> Rehearsal:
    gpus = tuple(
        Gpu(0, index, "NVIDIA A100-SXM4-80GB", "a100-80g", 80 << 30, busy,
            tuple(Holder(4000 + rank, rank, Memory(rank << 33, 20 << 30, 21 << 30)) for rank in ranks))
        for index, busy, ranks in ((0, 0, (0, 1)), (1, 30 << 30, (2, 3)))
    )  # fmt: skip
    processes = tuple(Process(4000 + rank, rank, 1 << 30, 100 + rank, 41.4) for rank in range(4))
    known: dict[str, Any] = {
        "pid": 3999, "command": ("devsan", "run", "--", "torchrun", "train.py"), "seconds": 72.4, "resident": 5 << 30,
        "processes": processes, "gpus": gpus,
    }  # fmt: skip
    return Rehearsal(**{**known, **changes})


def text_of(*rehearsals: Rehearsal, language: str = "en") -> list[str]:
    return ["".join(piece for piece, _ in line) for line in rehearsal_lines(rehearsals, language_named(language))]


def test_the_table():
    assert text_of(rehearsal()) == [
        "devsan run -- torchrun train.py",
        "running for 1 min 12 s, 2 a100-80g, 4 ranks, 103 steps, 41 per minute, 5 GiB of",
        "this machine's memory",
        "",
        "                                 used         of  allocated   reserved",
        "cuda:0  [#=======......]       42 GiB     80 GiB      8 GiB     40 GiB  52%",
        "  rank 0  pid 4000             21 GiB                   0 B     20 GiB",
        "  rank 1  pid 4001             21 GiB                 8 GiB     20 GiB",
        "cuda:1  [#######======.]       72 GiB     80 GiB     40 GiB     40 GiB  90%",
        "  rank 2  pid 4002             21 GiB                16 GiB     20 GiB",
        "  rank 3  pid 4003             21 GiB                24 GiB     20 GiB",
        "  other programs               30 GiB",
    ]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"per_minute": 41.4, "last": 1000, "seconds_left": 1420.0},
         "100 of 1000 steps, 41 per minute, 23 min 40 s left, "),
        ({"per_minute": 41.4, "last": 120, "of_pass": True, "seconds_left": 29.0},
         "100 steps, 41 per minute, 29 s left of this pass through the data, "),
        ({"per_minute": 41.4}, "100 steps, 41 per minute, 1 GiB of"),
    ],
)  # fmt: skip
def test_how_far_it_is(shown: dict[str, Any], expected: str):
    lines = text_of(rehearsal(processes=(Process(4000, None, 1 << 30, 100, **shown),), resident=1 << 30))
    assert expected in " ".join(lines[1:4])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_80_columns_in_both_languages(language):
    words = ("devsan", "run", "-c", "import torch\n\x1b[2J" + "x" * 200)
    lines = text_of(rehearsal(command=words), rehearsal(seconds=7261.0), language=language)
    assert max(map(display_width, lines)) <= 80
    assert all(character.isprintable() for line in lines for character in line)
    assert lines[0] == "devsan run -c 'import torch" and lines[1].startswith("  ?[2Jxxx") and lines[2].endswith("...")
    assert ("每分钟 41 步" in "".join(lines)) == (language == "zh")
    assert len({display_width(line.rstrip()) for line in lines if line.startswith("cuda:")}) == 1


def test_a_command_is_broken_between_its_words_and_a_long_one_has_an_end():
    short = ("devsan", "run", "--", "accelerate", "launch", "--multi_gpu", "--main_process_port", "29711", "train.py")
    assert text_of(rehearsal(command=(*short, "--epochs", "3")))[:2] == [
        "devsan run -- accelerate launch --multi_gpu --main_process_port 29711",
        "  train.py --epochs 3",
    ]
    lines = text_of(rehearsal(command=(*short, *("--data=here" for _ in range(100)))))
    assert lines[2].endswith("--data=here ...") and len(lines[2]) <= 80
    assert lines[3].startswith("running for")


def test_machines_of_several_nodes_are_told_apart():
    gpus = tuple(Gpu(node, 0, "", "l4-24g", 1 << 30, 0, ()) for node in range(2))
    lines = text_of(rehearsal(gpus=gpus))
    assert [line.split()[0] for line in lines[-4:]] == ["node", "cuda:0", "node", "cuda:0"]
