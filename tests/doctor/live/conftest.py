"""Programs that end with `found = devsan.doctor(...)`, run in this process, and the lines that are to be named."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parent))

HERE, ALSO = "# here", "# also"


@dataclass
class Checked:
    """What a program found, and the numbers of its lines that are marked."""

    found: Any
    here: int
    also: int

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.found]

    @property
    def said(self) -> str:
        return str(self.found.text("en"))


Check = Callable[..., Checked]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Check:
    """Runs a program on so many GPUs (0: without emulation) and returns what its `found` is."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def run(program: str, gpus: int = 2) -> Checked:
        import contextlib

        import torch

        import devsan

        text = "import torch\nimport devsan\n" + textwrap.dedent(program)
        file = tmp_path / "train.py"
        file.write_text(text, encoding="utf-8")
        names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file), "folder": str(tmp_path)}
        with mock.patch.dict(os.environ), devsan.emulate(gpus=gpus) if gpus else contextlib.nullcontext():
            try:
                exec(compile(text, str(file), "exec"), names)
            finally:
                torch.set_default_device(None)
                if torch.distributed.is_initialized():
                    torch.distributed.destroy_process_group()
                state = sys.modules.get("accelerate.state")
                if state is not None:  # it keeps the device of the first Accelerator of a process
                    state.AcceleratorState._reset_state(True)  # type: ignore[attr-defined]
        lines = text.splitlines()
        marked = {mark: next((number for number, line in enumerate(lines, 1) if line.endswith(mark)), 0)
                  for mark in (HERE, ALSO)}  # fmt: skip
        return Checked(names["found"], marked[HERE], marked[ALSO])

    return run
