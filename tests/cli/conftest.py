from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKES = Path(__file__).parent / "fakes"


@dataclass
class Front:
    """Runs the command line in new processes, over a fake of the core (see fakes/sitecustomize.py)."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log_file = self.folder / "fake.log"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEVSAN", "TORCH_", "PYTHON"))}
        self.environment = {
            **kept,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{FAKES}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "FAKE_LOG": str(self.log_file),
        }

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def python(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        done.stderr = self.without_closing_line(done.stderr)
        return done

    def devsan(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "devsan", *words, **environment)

    @staticmethod
    def without_closing_line(text: str) -> str:
        """What ``devsan run`` writes on stderr, without the line that test_closing.py is about."""
        return re.sub(r"^devsan: (?:\d+ GPUs?|real GPUs), (?:.*, )?no findings, .*\n\Z", "", text, flags=re.MULTILINE)

    def log(self) -> list[str]:
        return self.log_file.read_text(encoding="utf-8").splitlines() if self.log_file.exists() else []


@pytest.fixture
def front(tmp_path: Path) -> Front:
    return Front(tmp_path)


@pytest.fixture(params=["python -m devsan", "devsan"])
def same_as_python(front: Front, request: pytest.FixtureRequest) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs words with python and with both forms of devsan run, and compares all that comes out."""

    def compare(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        expected = front.python(*words, **environment)
        if request.param == "devsan":
            # What pip makes of [project.scripts], in a folder of its own as bin/ is.
            front.write("bin/devsan", "import sys\nfrom devsan.cli.main import main\nsys.exit(main())\n")
            got = front.python("bin/devsan", "run", "--format=off", *words, **environment)
        else:
            got = front.devsan("run", "--format=off", *words, **environment)
        assert got.stdout == expected.stdout
        assert got.stderr == expected.stderr
        assert got.returncode == expected.returncode
        assert front.log()[:1] == ["start a100-80g,a100-80g"]
        return got

    return compare
