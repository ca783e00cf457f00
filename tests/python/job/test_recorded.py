"""A job has one diagnosis: ``devsan report`` shows of its run files what was printed when it ended."""

from __future__ import annotations

import io
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.codes import all_codes
from devsan.job.text import write_runs
from devsan.render import github, html, sarif
from devsan.render import json as as_json
from devsan.render.language import language_named
from devsan.run_files.reader import read_run

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "run.schema.json"
COMMAND = re.compile(r"`devsan run --gpus (\d+) -- torchrun --nproc-per-node (\d+) example\.py`")

MISMATCH = """\
import torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
x = torch.ones(4, device="cuda")
dist.all_reduce(x)
x + torch.ones(4)
"""
EXITS = """\
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
x = torch.ones(4, device="cuda")
dist.all_reduce(x)
if dist.get_rank() == 1:
    os._exit(3)
dist.all_reduce(x)
torch.cuda.synchronize()
"""
WORKS = MISMATCH.replace("x + torch.ones(4)\n", "dist.destroy_process_group()\n")


def programs() -> dict[str, tuple[str, str, str]]:
    """By name: a program, how many GPUs and how many ranks."""
    found = {"a mismatch in all ranks": (MISMATCH, "2", "2"), "an exit": (EXITS, "2", "2"), "none": (WORKS, "2", "2")}
    for code in all_codes().values():
        text = code.page()
        command = COMMAND.search(text)
        if command is not None:
            found[code.code] = (re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)[0], command[1], command[2])
    return found


PROGRAMS = programs()
# One launch takes seconds: by default one of each way in which a diagnosis is made, all of them on demand.
WHOLE = os.environ.get("DEVSAN_JOBS") == "whole"
DRAWN = sorted(PROGRAMS) if WHOLE else ["DV302", "DV306", "a mismatch in all ranks", "none"]


def test_the_pages_have_a_program_for_each_cause_of_ranks():
    assert set(PROGRAMS) >= {"DV204", *(f"DV30{number}" for number in range(1, 7))}


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_the_recorded_report_is_the_printed_one(job, name, monkeypatch):
    program, gpus, ranks = PROGRAMS[name]
    if "accelerate" in program:
        pytest.importorskip("accelerate", reason="the example is about accelerate, which is not installed")
    job.write("example.py", program)
    words = ["run", "-q", "--gpus", gpus, "-o", "run.dvs", "--", "torchrun", "--nproc-per-node", ranks, "example.py"]
    done = job.devsan(*words, DEVSAN_LANG="en")
    assert (done.returncode == 0) == (name == "none") or "warning[" in done.stderr, done.stderr
    files = sorted(job.folder.glob("run.rank*.dvs"))
    assert len(files) == int(ranks)
    runs = [read_run(str(file)) for file in files]
    check_schema(runs)
    monkeypatch.chdir(job.folder)
    monkeypatch.setenv("DEVSAN_LANG", "en")
    [told] = {json.dumps(run["job"], sort_keys=True) for run in runs}
    assert json.loads(told) == runs[0]["job"]
    diagnosis: dict[str, Any] = runs[0]["job"]
    assert diagnosis["command"] == ["devsan", *words]
    assert [rank["rank"] for rank in diagnosis["ranks"]] == list(range(int(ranks)))
    assert all(run["end"] is not None for run in runs), "each rank's end is known"

    printed = report_in(done.stderr)
    out = io.StringIO()
    write_runs(runs, out)
    recorded = re.sub(r"^ += torch: .*\n", "", out.getvalue(), flags=re.MULTILINE)  # printed by the ranks, above
    assert recorded.startswith(printed), f"{printed}\n----- recorded:\n{recorded}"
    rest = recorded.removeprefix(printed)
    assert "error[" not in rest and "warning[" not in rest and "no end recorded" not in rest, rest

    findings = diagnosis["findings"]
    assert (findings == []) == (printed == "")
    for finding in findings:
        assert f"[{finding['code']}]" in printed and finding["headline"][:40] in printed
    if name.startswith("DV"):
        assert findings[0]["code"] == name
    texts = [text for each in findings for text in (each["title"], each["ranks_text"], *each["victims"])]
    chinese = language_named("zh")  # what was recorded can be read in the other language
    assert [text for text in texts if chinese.text(text) == text and not text.startswith("rank ")] == []
    codes = [finding["code"] for finding in findings]
    assert [run["job"]["findings"] for run in json.loads(as_json.render(runs))] == [findings] * int(ranks)
    [log] = json.loads(sarif.render(runs))["runs"]
    assert [result["ruleId"] for result in log["results"]] == codes
    for result, finding in zip(log["results"], findings, strict=True):
        assert finding["headline"] in result["message"]["text"]
        assert not finding["fixes"] or finding["fixes"][0]["text"] in result["message"]["text"]
    assert {each["commandLine"] for each in log["invocations"]} == {" ".join(["devsan", *words])}
    assert [line.split("title=")[1].split(" ")[0] for line in github.render(runs).splitlines()] == codes
    page = html.render(runs)
    assert all(f">{code}<" in page for code in codes) and " ".join(["devsan", *words]) in page


def report_in(stderr: str) -> str:
    """What DevSan printed behind the launcher's own output, without the line about the run files."""
    lines = stderr.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines)
              if line.startswith(("error[", "warning[")) or re.match(r"\S+, \d+ ranks:", line)]  # fmt: skip
    if not starts:
        return ""
    return "".join(line for line in lines[starts[0] - 1 :] if not line.startswith("devsan: the run is in"))


def check_schema(runs: list[dict[str, Any]]) -> None:
    import jsonschema

    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for run in runs:
        schema.validate(run)


def test_a_rank_that_was_killed_while_it_wrote(tmp_path):
    """Its last line is cut off; the diagnosis comes behind it and the rest can be read."""
    from devsan.job.diagnosis import keep

    file = tmp_path / "run.rank1.dvs"
    process = {"command": ["python", "train.py"], "directory": "/", "pid": 7, "rank": 0, "local_rank": 0,
               "world_size": 1, "devsan": "", "python": "", "torch": "", "platform": ""}  # fmt: skip
    head = {"record": "run", "version": 2, "start": "2026-11-21T17:05:03.000Z", "process": process, "gpus": []}
    file.write_text(json.dumps(head) + "\n" + '{"record": "transf', encoding="ascii")
    start = 1795280703.0  # the same, in seconds since the epoch
    rank = {"rank": 1, "how": "killed", "time": start + 2.5, "type": "", "message": "", "place": "", "code": None,
            "signal": signal.Signals.SIGKILL.name, "pid": 7, "local_rank": 1, "reported": False}  # fmt: skip
    other = {**rank, "rank": 0, "how": "running", "time": None, "signal": "", "pid": 6, "local_rank": 0}
    diagnosis = {"id": "1", "command": ["torchrun", "train.py"], "program": "train.py", "findings": [],
                 "ranks": [other, rank], "places": ""}  # fmt: skip
    keep(diagnosis, [str(file), str(tmp_path / "gone.dvs")])
    run = read_run(str(file))
    check_schema([run])
    assert run["notes"] == ["the last line is cut off (18 bytes): the process was stopped while it wrote"]
    assert (run["process"]["rank"], run["process"]["local_rank"], run["process"]["world_size"]) == (1, 1, 2)
    assert run["end"] == {"time": 2.5, "how": "killed", "exit_code": None, "exception": None, "signal": "SIGKILL"}
    out = io.StringIO()
    write_runs([run], out, "en")
    assert "train.py, 2 ranks:\n  rank 1  killed by SIGKILL\n  rank 0  still running\n" in out.getvalue()
    assert "rank 1 of 2: train.py on no GPUs: killed by SIGKILL after 2.5" in out.getvalue()
