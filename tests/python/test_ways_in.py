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

ROOT = Path(__file__).parents[2]

TRAIN = """\
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


if __name__ == "__main__":
    main()
"""

ENDINGS = {"terminal": "dvs", "json": "json", "html": "html", "sarif": "sarif", "github": "dvs"}


def _run(folder: Path, format: str, output: str) -> list[str]:
    return [sys.executable, "-m", "devsan", "run", "--gpus", "2", "--format", format, "-o", output, "train.py"]


def _variable(folder: Path, format: str, output: str) -> list[str]:
    os.environ["DEVSAN_OPTIONS"] = f"gpus=2:format={format}:output={output}"
    return [sys.executable, "train.py"]


def _with(folder: Path, format: str, output: str) -> list[str]:
    code = f"with devsan.emulate(gpus=2, format={format!r}, output={output!r}):\n    train.main()\n"
    (folder / "by_hand.py").write_text(f"import devsan\nimport train\n\n{code}")
    return [sys.executable, "by_hand.py"]


def _pytest(folder: Path, format: str, output: str) -> list[str]:
    (folder / "test_train.py").write_text("import train\n\n\ndef test_train():\n    train.main()\n")
    options = ["--devsan-gpus", "2", "--devsan-output", output]  # whose name says the format
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]


WAYS: dict[str, Callable[[Path, str, str], list[str]]] = {
    "devsan run": _run, "DEVSAN_OPTIONS": _variable, "with": _with, "pytest": _pytest,
}  # fmt: skip


def _in_text(text: str) -> str:
    """The report, from its title to its last line."""
    [report] = re.findall(r"^error\[DV.*?^more: .*?$", text, re.MULTILINE | re.DOTALL)
    return re.sub(r" +$", "", report, flags=re.MULTILINE)


def _in_json(text: str) -> str:
    run = json.loads(text.replace(json.loads(text)["process"]["directory"], "FOLDER"))
    [finding] = [each for each in run["findings"] if each["printed"]]
    placed = [[each["name"], each["device"], each["shape"], each["dtype"]] for each in finding["operands"]]
    kept = ("id", "code", "title", "confidence", "evidence", "fixes", "notes")
    return json.dumps([placed, *[finding[name] for name in kept]])


def _in_html(text: str) -> str:
    [verdict] = re.findall(r'<div class="verdict.*?</div>', text, re.DOTALL)
    return re.sub(r"[\d.]+ (us|ms|s)\b", "", " ".join(verdict.split()))  # after how long


def _in_sarif(text: str) -> str:
    [run] = json.loads(text)["runs"]
    return json.dumps([[each["ruleId"], each["message"]["text"]] for each in run["results"]])


def _in_annotations(text: str) -> str:
    [line] = re.findall(r"^::error .*$", text, re.MULTILINE)
    return line


READERS: dict[str, Callable[[str], str]] = {
    "terminal": _in_text, "json": _in_json, "html": _in_html, "sarif": _in_sarif, "github": _in_annotations,
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """What one way in says in one format, each once."""
    known: dict[tuple[str, str], str] = {}

    def answer(way: str, format: str) -> str:
        if (way, format) not in known:
            folder = tmp_path_factory.mktemp("way")
            (folder / "train.py").write_text(TRAIN)
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
            text = (folder / output).read_text(encoding="utf-8")
            if format in ("terminal", "github"):
                text = done.stdout + done.stderr
            known[way, format] = READERS[format](text)
        return known[way, format]

    return answer


CELLS = [(way, format) for way in WAYS for format in READERS if way != "devsan run"]
CELLS.remove(("pytest", "github"))  # pytest prints lines of its own: see docs/limits.md


@pytest.mark.parametrize("way,format", CELLS)
def test_every_way_in_gives_the_answer_of_devsan_run(way: str, format: str, answers: Callable[[str, str], str]) -> None:
    answer = answers("devsan run", format)
    assert "DV108" in answer
    assert answers(way, format) == answer


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
with devsan.emulate(gpus=1, output="one.dvs"):
    pass
with devsan.emulate(gpus=1, output="two.dvs"):
    pass
"""


def test_an_emulation_takes_back_its_hook_and_writes_one_file(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(HOOKS)
    words = [sys.executable, "hooks.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"the run is recorded in \S*one\.dvs already, and not in \S*two\.dvs", done.stderr)
    assert (tmp_path / "one.dvs").exists() and not (tmp_path / "two.dvs").exists()
