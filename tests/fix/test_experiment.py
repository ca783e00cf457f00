"""Running a job with a change: programs, modules, commands, ranks, limits, and what is left behind."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from seeded import change, laboratory, quiet, script

from devsan.errors import DevsanError
from devsan.fix.change import texts
from devsan.fix.job import Job
from devsan.fix.reference_run import find_reference
from devsan.fix.trial import try_changes
from devsan.numbers.comparison import compare
from devsan.options import Options

MIXED = """\
import sys

import torch

left = torch.arange(3.0, device="cuda:0")
right = torch.ones(3, device="cuda:1")
print((left + right).sum().item())
"""

RANKS = """\
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).cuda(), device_ids=[rank])
mask = torch.ones(4, 1)
loss = (model(torch.ones(4, 2).cuda() * (rank + 1)) * mask.view(4, 1)).sum()
loss.backward()
print(rank, loss.item())
dist.destroy_process_group()
"""


def marked(mark: str) -> list[int]:
    """The processes with ``mark`` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "fresh"), [(("train.py", "x"), False), (("train.py", "x"), True), (("-m", "train", "x"), False)]
)
def test_a_program_in_a_fork_or_a_process_of_its_own(tmp_path, words, fresh):
    path = script(tmp_path, MIXED + "assert sys.argv[1:] == ['x'] and __name__ == '__main__'\n")
    with laboratory(tmp_path, *words) as found:
        failed = found.run(fresh=fresh)
        assert (failed.exit_code, failed.ended, failed.timed_out) == (1, False, False)
        assert [finding["code"] for finding in failed.findings] == ["DV101"] or failed.findings
        assert "RuntimeError: Expected all tensors to be on the same device" in failed.error
        fixed = found.run(texts(change(path, ('"cuda:1"', '"cuda:0"')).edits), fresh=fresh)
        assert fixed.ended, fixed.error
        assert [event["kind"] for event in fixed.numbers["MainProcess"]] == ["value", "state", "end"]
        assert fixed.numbers["MainProcess"][0]["tensors"][0]["values"] == [6.0]
    assert path.read_text(encoding="utf-8").startswith("import sys\n\nimport torch\n\nleft")


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.long
def test_what_a_run_writes_in_its_folder_is_thrown_away(tmp_path, fresh):
    folder = tmp_path / "job"
    folder.mkdir()
    script(folder, "open('checkpoint', 'w').write('x')\nprint(open('checkpoint').read())\n")
    probe = "import sys; from devsan.fix.scratch import enter; sys.exit(not enter(*sys.argv[1:]))"
    if subprocess.run([sys.executable, "-c", probe, str(folder), str(tmp_path / "try")]).returncode != 0:
        pytest.skip("this system allows no overlay in a user namespace")
    with laboratory(folder, "train.py") as found:
        outcome = found.run(fresh=fresh)
    assert outcome.ended, outcome.error
    assert sorted(path.name for path in folder.iterdir()) == ["train.py"]


@pytest.mark.long  # half a minute
def test_ranks_of_torchrun_see_the_change_and_are_compared_one_by_one(tmp_path):
    path = script(tmp_path, RANKS)
    torchrun = (
        "--",
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
        "train.py",
    )
    with laboratory(tmp_path, *torchrun) as found:
        reference = find_reference(found, quiet)
        assert reference.outcome is not None, reference.first.error
        assert {"rank0", "rank1"} <= set(reference.outcome.numbers)
        failed = reference.failing()
        assert failed.exit_code == 1
        assert failed.findings
        fixed = try_changes(found, reference, (change(path, ("torch.ones(4, 1)", "torch.ones(4, 1).cuda()")),))
        assert fixed.status == "verified", fixed
        silent = try_changes(
            found, reference, (change(path, ("mask.view(4, 1)", "mask.view(4, 1).cuda() * (1 - rank)")),)
        )
        assert silent.status == "rejected" and "loss" in str(silent.comparison), silent


@pytest.mark.long
def test_replicas_of_data_parallel_draw_in_their_order(tmp_path):
    script(
        tmp_path,
        "import torch\n\nmodel = torch.nn.DataParallel(torch.nn.Dropout(0.5).to('cuda:0'))\n"
        "for _ in range(20):\n    model(torch.ones(4, 64, device='cuda:0'))\n",
    )
    with laboratory(tmp_path, "train.py") as found:
        first, again = found.run(), found.run()
    found_equal = compare(first.numbers, again.numbers)
    assert first.ended and found_equal.equal and found_equal.compared["output"] >= 20


JOBS = {
    "DV302": ("mine = 'cuda:0'", "out = dist.get_rank() + torch.ones(2, device='cuda') * torch.ones(2, device=mine)\n"),
    "DV305": ("mine = 'cuda'", "out = torch.ones(2 + dist.get_rank(), device=mine)\ndist.all_reduce(out)\n"),
}


@pytest.mark.long
@pytest.mark.parametrize("code", JOBS)
def test_a_job_has_the_diagnosis_of_its_ranks_together(tmp_path, code):
    named, body = JOBS[code]
    script(
        tmp_path,
        "import os\nimport torch\nimport torch.distributed as dist\n\ntorch.cuda.set_device(int(os.environ['RANK']))\n"
        f"dist.init_process_group('nccl')\n{named}\n{body}print(out.sum().item())\n",
    )
    torchrun = ("--", sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
    with laboratory(tmp_path, *torchrun, "train.py", seconds=60) as found:
        failed = found.run(compared=True)
    assert [finding["code"] for finding in failed.findings] == [code], failed.output
    assert "DV3" not in failed.output, "an experiment prints no report"


@pytest.mark.long
def test_children_that_are_spawned_are_compared(tmp_path):
    text = (
        "import torch\nimport torch.multiprocessing as mp\n\ndef work(rank):\n    torch.cuda.set_device(rank)\n"
        "    print((torch.ones(2, device='cuda') + torch.ones(1, 2)).sum().item())\n\n"
        "if __name__ == '__main__':\n    mp.spawn(work, nprocs=2)\n"
    )
    path = script(tmp_path, text)
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, quiet)
        assert reference.outcome is not None, reference.first.error
        assert len([name for name in reference.outcome.numbers if name.startswith("SpawnProcess")]) == 2
        fixed = try_changes(found, reference, (change(path, ("torch.ones(1, 2)", "torch.ones(1, 2, device='cuda')")),))
        assert fixed.status == "verified", fixed


@pytest.mark.long
@pytest.mark.parametrize("words", [("train.py",), ("--", sys.executable, "train.py")])
def test_what_takes_too_long_is_stopped_with_its_children(tmp_path, words):
    child = "import subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=%s)\ntime.sleep(600)\n"
    script(tmp_path, child % (words[0] == "--"))
    with laboratory(tmp_path, *words, seconds=8) as found:
        start = time.monotonic()
        outcome = found.run()
        assert outcome.timed_out and not outcome.ended
        assert time.monotonic() - start < 60
        until = time.monotonic() + 20
        while marked(f"DEVSAN_NUMBERS={found._folder}") and time.monotonic() < until:
            time.sleep(0.2)
        assert marked(f"DEVSAN_NUMBERS={found._folder}") == []


def test_a_run_has_so_much_memory(tmp_path):
    script(tmp_path, "x = bytearray(3 << 30)\n")
    with laboratory(tmp_path, "train.py", memory=2 << 30) as found:
        assert "MemoryError" in found.run().error


def test_runs_at_once_and_the_end_of_all_of_them(tmp_path):
    script(tmp_path, "import time\ntime.sleep(600)\n")
    failed = []
    with laboratory(tmp_path, "train.py", jobs=3) as found:
        assert found.jobs == 3
        threads = [threading.Thread(target=lambda: failed.append(found.run().exit_code)) for _ in range(3)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 60
        while len(found._groups) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        found.stop()
        for thread in threads:
            thread.join(60)
        assert len(failed) == 3 and 0 not in failed
        with pytest.raises(DevsanError, match="one that is closed"):
            found.run()


@pytest.mark.long
def test_results_of_runs_at_once_are_their_own(tmp_path):
    path = script(tmp_path, "import torch\nprint(torch.tensor(1.0, device='cuda').item())\n")
    results = {}
    with laboratory(tmp_path, "train.py") as found:

        def run(number: int) -> None:
            outcome = found.run(texts(change(path, ("1.0", f"{number}.0")).edits))
            results[number] = outcome.numbers["MainProcess"][0]["tensors"][0]["values"]

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {number: [float(number)] for number in range(4)}


@pytest.mark.long
def test_runs_that_listen_on_one_port_wait_for_each_other(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script(
        tmp_path,
        f"""
import socket, time
import torch
with socket.create_server(("127.0.0.1", {port})):
    time.sleep(1)
print(torch.tensor(2.0, device="cuda").item())
""",
    )
    with laboratory(tmp_path, "train.py", jobs=3) as found:
        outcomes = []
        threads = [threading.Thread(target=lambda: outcomes.append(found.run())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(each.exit_code, each.error) for each in outcomes] == [(0, "")] * 3


@pytest.mark.long
def test_a_fork_ends_as_python_ends_a_process(tmp_path: Path) -> None:
    text = """\
import atexit
import multiprocessing
import sys
import time


def late():
    time.sleep(0.5)
    print("late", file=sys.stderr)


atexit.register(lambda: print("registered", file=sys.stderr))
multiprocessing.get_context("fork").Process(target=late).start()
sys.exit(3)
"""
    script(tmp_path, text)
    with laboratory(tmp_path, "train.py") as lab:
        outcome = lab.run(observed=False)
    assert outcome.exit_code == 3
    assert "registered" in outcome.output
    assert "late" in outcome.output, "the process that multiprocessing waits for was not waited for"


@pytest.mark.parametrize("words", [("train.py",), ("--", "torchrun", "train.py")])
def test_the_ranks_of_a_script_are_compared_as_those_of_a_command_are(words: tuple[str, ...]):
    """A script that starts its ranks itself (mp.spawn) is a job, too, whose cause the ranks may show together."""
    job = Job(Options().updated({"gpus": "2"}), words)
    assert "--format=terminal" in job.run_words("warn", "run.dvs", compared=True)
    assert "--format=off" in job.run_words("warn", "run.dvs")
