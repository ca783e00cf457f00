"""Programs under ``devsan run -o``, in processes of their own, and the documents of what they left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from programs import run as run_forked

from devsan.run_files.reader import read_run

ROOT = Path(__file__).parents[1]

MOVES = """
import torch
a = torch.ones(1024, device="cuda:0")
for _ in range(3):
    b = a.to("cuda:1")
c = torch.zeros(1024, device="cuda:1")
c.copy_(a)
"""
FAILS = MOVES + "a + b\n"


class Programs:
    """Runs programs under ``devsan run -o run.dvs`` in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            key: value for key, value in os.environ.items()
            if not key.startswith("DEVSAN") and key not in ("RANK", "WORLD_SIZE", "GITHUB_WORKSPACE")
        }  # fmt: skip

    def words(self, text: str, *options: str) -> list[str]:
        (self.folder / "program.py").write_text(text, encoding="utf-8")
        return [sys.executable, "-m", "devsan", "run", *options, "program.py"]

    def start(self, words: list[str], **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            words, cwd=self.folder, env={**self.environment, **environment}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.PIPE,
        )  # fmt: skip

    def run(self, text: str, *options: str, **environment: str) -> tuple[int, str, str]:
        words = self.words(text, *(options or ("-o", "run.dvs")))[1:]
        done = run_forked(words, cwd=self.folder, env={**self.environment, **environment})
        return done.returncode, done.stdout, done.stderr

    def read(self, name: str = "run.dvs") -> dict[str, Any]:
        run = read_run(str(self.folder / name))
        validate(run)
        return run


def validate(run: dict[str, Any]) -> None:
    """Holds a document against docs/reference/run.schema.json."""
    import jsonschema

    schema = json.loads((ROOT / "docs/reference/run.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(run)
