"""%devsan in a real kernel of Jupyter: emulated GPUs, and the report as a page under its cell."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed: `make setup` installs it")

ROOT = Path(__file__).parents[2]

Cell = Callable[[str], "Shown"]


class Shown:
    """What Jupyter shows of a cell: streams by name, errors by name, and what was displayed."""

    def __init__(self) -> None:
        self.streams = {"stdout": "", "stderr": ""}
        self.errors: list[str] = []
        self.displays: list[dict[str, str]] = []

    def take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            self.streams[content["name"]] += content["text"]
        elif kind == "error":
            self.errors.append(content["ename"])
        elif kind in ("display_data", "execute_result"):
            self.displays.append(content["data"])


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    from jupyter_client.manager import start_new_kernel

    folder = tmp_path_factory.mktemp("notebook")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DEVSAN")}
    environment["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    environment["IPYTHONDIR"] = str(folder)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=environment)

    def run(code: str) -> Shown:
        shown = Shown()
        client.execute_interactive(code, timeout=120, output_hook=shown.take)
        return shown

    assert run("import torch\n%load_ext devsan").errors == []
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


SETTLE = """\
import torch
layer = torch.nn.Linear(4, 4, device="cuda:1")
inputs = torch.ones(2, 4, device="cuda:0")
"""


def test_a_report_is_a_page_under_its_cell(cell: Cell) -> None:
    told = cell("%devsan --gpus 2 --memory 24GiB").streams["stdout"]
    assert told.startswith("devsan: emulated GPUs: cuda:0 NVIDIA")
    assert cell(SETTLE).errors == []
    for _ in range(2):  # a cell is run again, and shows its report again
        shown = cell("layer(inputs)")
        assert shown.errors == ["RuntimeError"] and shown.streams["stderr"] == ""
        [display] = shown.displays
        assert display["text/plain"].startswith("error[DV") and "Cell In[" in display["text/plain"]
        assert "\x1b" not in display["text/plain"]
        assert "= torch: " not in display["text/plain"], "the traceback of the cell has the sentence"
        assert re.findall(r"help: .*\(Cell\s+In\[\d+\]:3\)", display["text/plain"]), "not the name of its file"
        [page] = re.findall(r'<iframe srcdoc="(.*?)" sandbox="allow-scripts"', display["text/html"], re.DOTALL)
        page = html.unescape(page)
        assert page.startswith("<!DOCTYPE html>") and page.count('id="finding-1"') == 1
        assert "Expected all tensors" in page
        assert "inputs" in page and 'id="finding-2"' not in page
        assert re.findall(r"<dd>2 . NVIDIA.*?, (.*?)</dd>", page) == ["24\N{NO-BREAK SPACE}GiB"]
    assert cell("1 / 0").displays == []
    assert cell("%devsan off").streams["stdout"] == "devsan: no GPUs are emulated\n"
    assert cell("%devsan").streams["stdout"] == "devsan: no GPUs are emulated\n"


def test_one_cell_alone(cell: Cell) -> None:
    shown = cell("%%devsan --gpus 3\nprint(torch.cuda.device_count())\nawaited = 1")
    assert (shown.streams["stdout"], shown.errors) == ("3\n", [])
    assert cell("torch.cuda.device_count(), awaited").displays[0]["text/plain"] == "(0, 1)"
    shown = cell("%%devsan --gpus 2\ntorch.ones(2, device='cuda:0') + torch.ones(2, device='cuda:1')")
    assert shown.errors == ["RuntimeError"], "shown once"
    assert shown.streams["stderr"] == "UsageError: devsan: the cell ended with RuntimeError\n"
    [display] = shown.displays
    assert display["text/plain"].startswith("error[DV")


def test_one_cell_alone_leaves_the_notebook_its_gpus(cell: Cell) -> None:
    cell("%devsan --gpus 2 --memory 24GiB")
    assert cell("%%devsan --gpus 4\nprint(torch.cuda.device_count())").streams["stdout"] == "4\n"
    sizes = "torch.cuda.device_count(), torch.cuda.get_device_properties(0).total_memory >> 30"
    assert cell(sizes).displays[0]["text/plain"] == "(2, 24)"
    cell("%devsan off")


MIXED = "(torch.ones(2, device='cuda:0') + torch.ones(2, device='cuda:1')).sum().item()"


def test_the_last_line_says_all_that_is_in_force(cell: Cell) -> None:
    """Not the GPUs alone: a policy or a check of an earlier line is none of a later one's."""
    told = cell("%devsan --gpus 2 --policy warn --memory 24GiB").streams["stdout"]
    assert told.endswith(" (--memory 24GiB --policy warn)\n")
    assert cell(MIXED).errors == []
    assert cell("%devsan --gpus 2").streams["stdout"].endswith("80GB\n")
    assert cell(MIXED).errors == ["RuntimeError"]
    cell("%devsan --gpus 2 --policy warn")
    assert cell(MIXED).errors == []
    cell("%devsan off")


def test_a_file_can_be_named_after_other_cells(cell: Cell) -> None:
    assert cell("%%devsan --gpus 2\nprint(torch.ones(2, device='cuda').sum().item())").streams["stdout"] == "2.0\n"
    assert cell("%devsan --gpus 2 -o cells.dvs").streams["stderr"] == ""
    assert cell("torch.ones(3, device='cuda:1').sum().item()").errors == []
    read = "from devsan.run_files.reader import read_run\nrun = read_run('cells.dvs')\n"
    cell("%devsan off")
    shown = cell(f"{read}[each['device'] for each in run['memory']['devices'] if each['peak_allocated']]")
    assert shown.displays[0]["text/plain"] == "['cuda:1']"


def test_the_magic_says_what_it_does_not_understand(cell: Cell) -> None:
    for line, sentence in (
        ("--gpu 2", "expected options of devsan run behind %devsan, got '--gpu'; did you mean '--gpus'?"),
        ("--gpus 2 train.py", "expected options of devsan run behind %devsan, got 'train.py'"),
        ("--profile a100", "did you mean"),
        ("--gpus '2", "No closing quotation"),
    ):
        shown = cell(f"%devsan {line}")
        assert sentence in shown.streams["stderr"] and shown.streams["stderr"].count("\n") == 1, line
    assert cell("%devsan").streams["stdout"] == "devsan: no GPUs are emulated\n"


def test_unloading_ends_it(cell: Cell) -> None:
    cell("%devsan --gpus 2")
    assert cell("%unload_ext devsan").streams["stderr"] == ""
    assert cell("torch.cuda.device_count()").displays[0]["text/plain"] == "0"
    assert "not found" in cell("%devsan --gpus 2").streams["stderr"]
    assert cell("%load_ext devsan").errors == []
