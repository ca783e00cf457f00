"""``devsan report``: what it reads, and what it refuses in one sentence."""

from __future__ import annotations

import json

import pytest

HEAD = {
    "record": "run", "version": 2, "start": "2026-01-01T00:00:00.000Z",
    "process": {"command": ["devsan", "run", "--gpus", "2", "-o", "run.dvs", "train.py", "-v"], "directory": "/x",
                "pid": 1, "rank": 0, "local_rank": 0, "world_size": 1, "devsan": "", "python": "3.12.0",
                "torch": "2.13.0", "platform": ""},
    "gpus": [{"device": "cuda:0", "name": "GPU", "profile": "l4-24g", "memory": 1024, "used_memory": 0}],
}  # fmt: skip
MEMORY = {"record": "memory", "rows": [[0.5, 0, 512, 1000]], "peaks": [[0, 600, 1000]], "budgets": [[0, 1024]]}
PEAK = {
    "device": "cuda:0", "allocated": 600, "reserved": 1000, "op": "aten::mm", "stack": [],
    "parts": [
        {"kind": "optimizer_state", "bytes": 400, "tensors": 2,
         "largest": [{"name": "exp_avg of w", "op": "", "where": "", "bytes": 400, "tensors": 2}]},
        {"kind": "activation", "bytes": 200, "tensors": 1,
         "largest": [{"name": "", "op": "aten::" + 60 * "m", "where": "", "bytes": 200, "tensors": 1}]},
    ],
}  # fmt: skip
END = {
    "record": "end", "end": {"time": 2.0, "how": "finished", "exit_code": 0, "exception": None}, "totals": [],
    "lost": 0,
}  # fmt: skip


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_run_without_findings(front):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    done = front.devsan("report", "run.dvs")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "\ntrain.py -v on 1 GPU: finished after 2 s\n\n"
        "  memory  cuda:0  [#####=====]  peak 600 B (1000 B reserved) of 1 KiB\n"
    )


def test_the_summary_in_chinese(front):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    said = front.devsan("report", "--lang", "zh", "run.dvs").stdout
    assert "2 s 后正常结束\n\n  显存   cuda:0  [#####=====]  峰值 600 B" in said
    assert front.devsan("report", "run.dvs", DEVSAN_LANG="zh").stdout == said
    assert "finished after 2 s" in front.devsan("report", "--lang", "en", "run.dvs", DEVSAN_LANG="zh").stdout


def test_who_held_the_memory_at_the_peak(front):
    front.write("run.dvs", lines(HEAD, MEMORY, {"record": "peaks", "peaks": [PEAK]}, END))
    said = front.devsan("report", "run.dvs").stdout
    assert said.endswith(
        "  memory  cuda:0  [#####=====]  peak 600 B (1000 B reserved) of 1 KiB\n"
        "  peak    cuda:0\n"
        "            400 B   67 %  optimizer state: exp_avg of w\n"
        "            200 B   33 %  activations and other results of operators\n"
    )
    chinese = front.devsan("report", "--lang", "zh", "run.dvs").stdout
    assert "400 B   67 %  优化器状态" in chinese


def test_a_killed_run_says_so(front):
    front.write("run.dvs", lines(HEAD, MEMORY) + '{"record": "tran')
    done = front.devsan("report", "run.dvs")
    assert done.returncode == 0
    assert "no end recorded (killed, or still running), last seen after 500 ms" in done.stdout
    assert "note:   the last line is cut off" in done.stdout


def test_json_into_a_file(front):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    done = front.devsan("report", "--format", "json", "-o", "run.json", "run.dvs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    document = json.loads((front.folder / "run.json").read_text(encoding="utf-8"))
    assert document["memory"]["devices"] == [
        {"device": "cuda:0", "budget": 1024, "peak_allocated": 600, "peak_reserved": 1000}
    ]


@pytest.mark.parametrize("form", ["terminal", "json", "html", "sarif", "perfetto", "github"])
def test_every_format_takes_several_ranks(front, form):
    for rank in (1, 0):
        process = {**HEAD["process"], "rank": rank, "world_size": 2}
        front.write(f"run.rank{rank}.dvs", lines({**HEAD, "process": process}, MEMORY, END))
    done = front.devsan("report", "--format", form, "run.rank1.dvs", "run.rank0.dvs")
    assert (done.returncode, done.stderr) == (0, "")
    if form == "terminal":
        assert done.stdout.index("rank 0 of 2: ") < done.stdout.index("rank 1 of 2: ")


def test_the_name_of_a_run_stands_for_its_ranks(front):
    for rank in range(2):
        head = {**HEAD, "process": {**HEAD["process"], "rank": rank, "world_size": 2}}
        front.write(f"run.rank{rank}.dvs", lines(head, MEMORY, END))
    whole = front.devsan("report", "run.rank0.dvs", "run.rank1.dvs")
    assert (whole.returncode, front.devsan("report", "run.dvs").stdout) == (0, whole.stdout)


def test_the_ending_of_the_output_chooses_the_format(front):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    assert front.devsan("report", "run.dvs", "-o", "page.html").returncode == 0
    assert (front.folder / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_no_color_through_a_pipe_and_color_when_forced(front):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    assert "\x1b" not in front.devsan("report", "run.dvs").stdout
    assert "\x1b" in front.devsan("report", "run.dvs", FORCE_COLOR="1").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run.dvs", "--format", "jsn"], "got 'jsn'; did you mean --format json?"),
        (["none.dvs"], "expected a run file, got 'none.dvs': No such file or directory"),
        (["text.txt"], "expected a run file, got 'text.txt', which is not one"),
        (["later.dvs"], "expected a run file of version 2, got 'later.dvs' of version 3"),
        (["."], "expected a run file, got '.': Is a directory"),
        (["run.dvs", "--lang", "fr"], "expected lang to be en or zh, got 'fr'"),
        ([], "the following arguments are required"),
        (["-o", "none/x", "run.dvs"], "expected a file that can be written, got 'none/x': No such file or directory"),
    ],
)
def test_refusals(front, words, sentence):
    front.write("run.dvs", lines(HEAD, MEMORY, END))
    front.write("text.txt", "hello\n")
    front.write("later.dvs", lines({**HEAD, "version": 3}))
    done = front.devsan("report", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("devsan run train.py -o x", "train.py -o x"), ("devsan run --gpus 2 -orun.dvs -m train -v", "-m train -v"),
        ("devsan run --gpus=2 -o run.dvs train.py", "train.py"), ("python -u -X dev train.py", "train.py"),
        ("python -m torch.distributed.run x.py", "-m torch.distributed.run x.py"), ("train", "train"),
    ],
)  # fmt: skip
def test_the_program_is_named_without_what_started_it(command, program):
    from devsan.render.terminal.run import program_of

    assert program_of(command.split()) == program
