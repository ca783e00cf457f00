"""One answer everywhere: each way into DevSan gives the same report, in each format."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.render.formats import rendered
from devsan.run_files.reader import read_run

ROOT = Path(__file__).parents[2]

LEFT_BEHIND = """\
import torch


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.scale = torch.full((8,), 0.5)

    def forward(self, inputs):
        return self.layer(inputs) * self.scale


def main():
    model = Scaled().to("cuda:1")
    model(torch.ones(2, 8, device="cuda:1"))
"""
TWO_DEVICES = """\
import torch


def main():
    stages = torch.nn.Linear(8, 8, device="cuda:0"), torch.nn.Linear(8, 8, device="cuda:1")
    hidden = stages[0](torch.ones(2, 8, device="cuda:0"))
    return stages[1](hidden)
"""
FULL = """\
import torch


def main():
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).to("cuda:1")
    optimizer = torch.optim.AdamW(model.parameters())
    kept = []
    for _ in range(4):
        batch = torch.ones(4096, 1024, device="cuda:0")
        loss = model(batch.to("cuda:1")).sum()
        kept.append(loss)
        loss.backward(retain_graph=True)
        optimizer.step()
"""
COLLECTIVE = """\
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
    total = torch.ones(4)
    dist.all_reduce(total)
"""
STARTED = """

if __name__ == "__main__":
    main()
"""
PROGRAMS = {"left behind": LEFT_BEHIND, "two devices": TWO_DEVICES, "out of memory": FULL, "collective": COLLECTIVE}
CODES = {"left behind": "DV108", "two devices": "DV1", "out of memory": "DV501", "collective": "DV1"}
MEMORY = "600MiB"

Ran = Callable[[str, str, str], "tuple[str, Path]"]

ENDINGS = {"terminal": "dvs", "json": "json", "html": "html", "sarif": "sarif", "github": "dvs"}


def _run(folder: Path, format: str, output: str) -> list[str]:
    options = ["--gpus", "2", "--memory", MEMORY, "--format", format, "-o", output]
    return [sys.executable, "-m", "devsan", "run", *options, "train.py"]


def _variable(folder: Path, format: str, output: str) -> list[str]:
    os.environ["DEVSAN_OPTIONS"] = f"gpus=2:memory={MEMORY}:format={format}:output={output}"
    return [sys.executable, "train.py"]


def _with(folder: Path, format: str, output: str) -> list[str]:
    code = f"with devsan.emulate(gpus=2, memory={MEMORY!r}, format={format!r}, output={output!r}):\n    train.main()\n"
    (folder / "by_hand.py").write_text(f"import devsan\nimport train\n\n{code}")
    return [sys.executable, "by_hand.py"]


def _pytest(folder: Path, format: str, output: str) -> list[str]:
    (folder / "test_train.py").write_text("import train\n\n\ndef test_train():\n    train.main()\n")
    options = ["--devsan-gpus", "2", "--devsan-memory", MEMORY, "--devsan-output", output]  # whose name says the format
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]


NOTEBOOK = """\
import html, re, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
shown, errors = [], []


def take(message):
    shown.extend([message["content"]["data"]] if message["msg_type"] == "display_data" else [])
    errors.extend([message["content"]["ename"]] if message["msg_type"] == "error" else [])


options, output = sys.argv[1:]
client.execute_interactive("%load_ext devsan\\n%devsan " + options, timeout=100, output_hook=take)
client.execute_interactive("import train\\ntrain.main()", timeout=100, output_hook=take)
client.execute_interactive("%devsan off", timeout=100, output_hook=take)
client.stop_channels()
manager.shutdown_kernel()
print(shown[0]["text/plain"])
if output:
    [page] = re.findall('<iframe srcdoc="(.*?)" sandbox', shown[0]["text/html"], re.DOTALL)
    open(output, "w", encoding="utf-8").write(html.unescape(page))
sys.exit(len(errors))
"""


def _notebook(folder: Path, format: str, output: str) -> list[str]:
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: `make setup` installs it")
    (folder / "cells.py").write_text(NOTEBOOK)
    under_the_cell = format == "html"
    options = f"--gpus 2 --memory {MEMORY}" + ("" if under_the_cell else f" -o {output}")
    return [sys.executable, "cells.py", options, output if under_the_cell else ""]


WAYS: dict[str, Callable[[Path, str, str], list[str]]] = {
    "devsan run": _run, "DEVSAN_OPTIONS": _variable, "with": _with, "pytest": _pytest,
    "notebook": _notebook,
}  # fmt: skip


def _in_text(text: str) -> str:
    """The report, from its title to its last line, without torch's sentence: it is told where no traceback has it."""
    text = re.sub(r"^\[rank0\]: ?", "", text, flags=re.MULTILINE)  # torch's excepthook, where there is a process group
    [report] = re.findall(r"^error\[DV.*\n(?:(?:(?:note|more|help|undecided): | ).*\n|\n)*", text, re.MULTILINE)
    report = re.sub(r"^( +)= torch: .*\n(?:\1  \S.*\n)*", "", report, flags=re.MULTILINE)
    return re.sub(r" +$", "", report, flags=re.MULTILINE).rstrip()


def _in_json(text: str) -> str:
    run = json.loads(text.replace(json.loads(text)["process"]["directory"], "FOLDER"))
    [finding] = [each for each in run["findings"] if each["printed"]]
    placed = [[each["name"], each["device"], each["shape"], each["dtype"]] for each in finding["operands"]]
    kept = ("id", "code", "title", "confidence", "evidence", "fixes", "notes")
    return json.dumps([placed, *[finding[name] for name in kept]])


def _in_html(text: str) -> str:
    [verdict] = re.findall(r'<div class="verdict.*?</div>', text, re.DOTALL)
    # After how long, which the page under a cell does not say.
    after = r'<span class="quiet"><span lang="en" class="en">after .*?</span><span .*?</span></span>'
    return re.sub(after, "", " ".join(verdict.split()))


def _in_sarif(text: str) -> str:
    [run] = json.loads(text)["runs"]
    return json.dumps([[each["ruleId"], each["message"]["text"]] for each in run["results"]])


def _in_annotations(text: str) -> str:
    lines = re.findall(r"^::\w+ .*$", text, re.MULTILINE)
    assert lines
    return "\n".join(lines)


READERS: dict[str, Callable[[str], str]] = {
    "terminal": _in_text, "json": _in_json, "html": _in_html, "sarif": _in_sarif, "github": _in_annotations,
}  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], tuple[str, Path]]:
    """What a program printed that one way in has run for one format, and the file that it wrote; each once."""
    known: dict[tuple[str, str, str], tuple[str, Path]] = {}

    def run(program: str, way: str, format: str) -> tuple[str, Path]:
        if (program, way, format) not in known:
            folder = tmp_path_factory.mktemp("way")
            (folder / "train.py").write_text(PROGRAMS[program] + STARTED)
            output = f"run.{ENDINGS[format]}"
            with pytest.MonkeyPatch.context() as patch:
                patch.delenv("DEVSAN_OPTIONS", raising=False)
                patch.setenv("NO_COLOR", "1")
                patch.delenv("FORCE_COLOR", raising=False)
                patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))
                words = WAYS[way](folder, format, output)
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
                os.environ.pop("DEVSAN_OPTIONS", None)
            assert done.returncode == 1, done.stderr
            assert (folder / output).exists(), done.stdout + done.stderr
            known[program, way, format] = (done.stdout + done.stderr, folder / output)
        return known[program, way, format]

    return run


CELLS = [(way, format) for way in WAYS for format in READERS if way != "devsan run"]
CELLS.remove(("pytest", "github"))  # pytest prints lines of its own, and a notebook shows none: see docs/limits.md
CELLS.remove(("notebook", "github"))


@pytest.mark.drawn(6)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("way,format", CELLS)
def test_every_way_in_gives_the_answer_of_devsan_run(way: str, format: str, ran: Ran) -> None:
    def answer(way: str) -> str:
        printed, file = ran("left behind", way, format)
        is_printed = format in ("terminal", "github")
        return READERS[format](printed if is_printed else file.read_text(encoding="utf-8"))

    expected = answer("devsan run")
    assert "DV108" in expected
    assert answer(way) == expected


@pytest.mark.drawn(8)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "devsan run"])
@pytest.mark.parametrize(
    "program", [pytest.param(each, marks=pytest.mark.rare if each == "out of memory" else ()) for each in PROGRAMS]
)
def test_and_so_for_each_sort_of_failure_in_each_format(program: str, way: str, ran: Ran) -> None:
    """One run is printed and recorded, and its record rendered in each format, as ``devsan report`` does."""

    def answers(way: str) -> dict[str, object]:
        printed, file = ran(program, way, "terminal")
        run = read_run(str(file))
        [finding] = [each for each in run["findings"] if each["printed"]]
        told = {name: finding[name] for name in ("code", "title", "confidence", "evidence", "fixes", "notes")}
        # Of the module alone: who called it is what the ways differ in.
        told["sites"] = [[each["line"], each["source"]] for each in finding["stack"] if each["function"] == "main"]
        told["operands"] = [[each[key] for key in ("name", "device", "shape", "dtype")] for each in finding["operands"]]
        text = re.sub(re.escape(str(file.parent)), "FOLDER", json.dumps(told, default=str))
        files = {format: READERS[format](rendered(format, [run])) for format in READERS if format != "terminal"}
        return {"run file": text, "terminal": _in_text(printed), **files}

    expected, found = answers("devsan run"), answers(way)
    assert CODES[program] in str(expected["run file"])
    for format, answer in expected.items():
        assert found[format] == answer, format


HOOKS = """
import sys
import devsan

before = sys.excepthook
with devsan.emulate(gpus=1):
    assert sys.excepthook is not before
assert sys.excepthook is before
with devsan.emulate(gpus=1, format="off"):
    assert sys.excepthook is before
devsan.install()
with devsan.emulate(gpus=1):
    pass
assert sys.excepthook is not before  # devsan.install() asked for it, too
devsan.uninstall()
assert sys.excepthook is before
try:
    with devsan.emulate(gpus=1, output="no/such/folder.dvs"):
        raise AssertionError
except devsan.errors.UsageError as error:
    assert "folder" in str(error)
with open("taken.html", "w") as file:
    file.write("kept")
try:
    with devsan.emulate(gpus=1, output="taken.html"):
        raise AssertionError
except devsan.errors.UsageError as error:
    assert "expected a new file for output, or force=True to replace it" in str(error)
with devsan.emulate(gpus=1, output="one.dvs"):
    pass
with devsan.emulate(gpus=1, output="two.dvs"):
    pass
"""


@pytest.mark.long
def test_an_emulation_takes_back_its_hook_and_writes_one_file(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(HOOKS)
    words = [sys.executable, "hooks.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"the run is recorded in \S*one\.dvs already, and not in \S*two\.dvs", done.stderr)
    assert (tmp_path / "one.dvs").exists() and not (tmp_path / "two.dvs").exists()
