"""devsan.install in a real kernel of Jupyter: IPython's own traceback, then the report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed: `make setup` installs it")

ROOT = Path(__file__).parents[2]
SENTENCE = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"

Run = Callable[[str], tuple[str, list[str]]]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs a cell; returns what it wrote to stderr and displayed, and the names of the exceptions that it shows."""
    from jupyter_client.manager import start_new_kernel

    folder = tmp_path_factory.mktemp("notebook")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DEVSAN")}
    environment["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    environment["NO_COLOR"], environment["IPYTHONDIR"] = "1", str(folder)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=environment)

    def cell(code: str) -> tuple[str, list[str]]:
        messages: list[tuple[str, dict[str, Any]]] = []
        client.execute_interactive(
            code, timeout=60, output_hook=lambda message: messages.append((message["msg_type"], message["content"]))
        )
        errors = "".join(content["text"] for kind, content in messages if content.get("name") == "stderr")
        errors += "".join(content["data"]["text/plain"] for kind, content in messages if kind == "display_data")
        return errors, [content["ename"] for kind, content in messages if kind == "error"]

    assert cell("import os; os.environ.pop('FORCE_COLOR', None); os.environ.pop('CLICOLOR_FORCE', None)") == ("", [])
    yield cell
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_cells(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"raise RuntimeError({SENTENCE!r})")
    define = f"def fail(rank):\n    raise RuntimeError({SENTENCE!r})"
    assert run(define) == ("", [])
    assert run("fail(0)") == ("", ["RuntimeError"])  # not asked for yet

    assert run("%load_ext devsan\nimport sys\nassert 'torch' not in sys.modules") == ("", [])
    errors, shown = run("# a comment\nfail(1)")
    assert shown == ["RuntimeError"]
    assert errors.lstrip().startswith("error: operands are on cuda:0 and cpu\n  --> Cell In["), errors
    assert "raise RuntimeError(" in errors
    assert "= torch: " not in errors, "IPython's own traceback has the sentence"
    assert run("1 / 0") == ("", ["ZeroDivisionError"])
    for code in ("import asyncio\nawait asyncio.sleep(0)\nfail(2)", "%time fail(3)", f"%run {program}"):
        errors, shown = run(code)
        assert shown == ["RuntimeError"]
        assert errors.count("error: operands are on cuda:0 and cpu") == 1, (code, errors)
    assert run("try:\n    fail(4)\nexcept RuntimeError as error:\n    text = devsan.explain(error)")[1] == ["NameError"]
    assert run("import devsan\nassert devsan.explain(sys.last_value).startswith('error: operands')")[1] == []

    assert run("%unload_ext devsan") == ("", [])
    assert run("fail(5)") == ("", ["RuntimeError"])


def test_a_program_in_several_cells_has_the_cause_of_one_in_a_file(run: Run) -> None:
    program = ["import torch\na = torch.ones(3, device='cuda:1')", "b = torch.ones(3, device='cuda:0')", "a + b"]
    assert run("%load_ext devsan\n%devsan --gpus 2") == ("", [])
    whole, _ = run("\n".join(program))
    for cell in program[:-1]:
        assert run(cell) == ("", [])
    apart, _ = run(program[-1])
    told, _ = run("import devsan\ndevsan.where(a)")
    assert re.search(r"^   --> Cell In\[\d+\]:2:5  a = torch\.ones", told, re.MULTILINE), told
    heads = [re.search(r"error\[(DV\d+)\].*(?:\n.*)*?\n(help: .*)", text) for text in (whole, apart)]
    assert heads[0] and heads[1], (whole, apart)
    assert heads[0][1] == heads[1][1] == "DV102"
    run("%devsan off\n%unload_ext devsan")
