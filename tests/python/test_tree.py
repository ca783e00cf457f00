"""The tree keeps to its own rules, and the script that says so can tell when it does not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LATE = "def late():\n    import "


def check(script: str, tree: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, ROOT / "tools" / script, tree]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def write(tree: Path, path: str, text: str) -> None:
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def lawful_tree(tree: Path) -> Path:
    write(tree, "core/model/device.h", "#pragma once\n#include <string>\n")
    write(tree, "core/memory/ledger.h", '#pragma once\n#include "model/device.h"\n')
    write(tree, "core/guard/device_check.cpp", '#include "guard/device_check.h"\n#include <ATen/ATen.h>\n')
    write(tree, "core/emulate/runtime/kernel.cpp", '#include <torch/library.h>\n#include "memory/ledger.h"\n')
    write(tree, "core/intercept/door.cpp", '#include "emulate/runtime/kernel.h"\n#include "guard/verdict.h"\n')
    write(tree, "devsan/__init__.py", "def emulate():\n    from importlib import import_module\n    import torch\n")
    write(tree, "devsan/options.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n")
    write(tree, "devsan/report.py", "import rich\n")
    write(tree, "devsan/core_library.py", "def load():\n    from devsan import _core\n")
    write(
        tree,
        "devsan/job/watchdog.py",
        "def main():\n    from devsan.job import finalize\n    from devsan.options import VARIABLE\n",
    )
    write(tree, "devsan/job/finalize.py", "def write():\n    import rich.text\n")
    write(tree, "devsan/job/notes.py", "from devsan.job import finalize\n")
    return tree


@pytest.mark.parametrize("script", ["check_layers.py", "check_imports.py"])
def test_this_tree_keeps_the_rules(script: str) -> None:
    result = check(script, ROOT)
    assert (result.stdout, result.returncode) == ("", 0)


@pytest.mark.parametrize("script", ["check_layers.py", "check_imports.py"])
def test_a_lawful_sample_passes(tmp_path: Path, script: str) -> None:
    result = check(script, lawful_tree(tmp_path))
    assert (result.stdout, result.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        ("core/model/a.h", '#include "memory/ledger.h"', "expected model to include no other folder"),
        ("core/memory/a.h", "#include <c10/core/Device.h>", "expected memory to know nothing of torch"),
        ("core/diagnose/a.cpp", "# include <torch/types.h>", "expected diagnose to know nothing of torch"),
        ("core/emulate/runtime/a.cpp", '#include "guard/device_check.h"', "expected emulate to include model, memory"),
        ("core/guard/a.cpp", '#include "emulate/runtime/kernel.h"', "expected guard to include model, memory, record"),
        ("core/record/a.cpp", '#include "intercept/door.h"', "expected record to include model, memory, got"),
        ("core/guard/a.cpp", "#include <torch/library.h>", "expected only intercept to register with torch"),
        ("core/emulate/runtime/a.cpp", '#include "kernel.h"', 'expected "folder/file" for a file of ours'),
        ("core/emulate/runtime/a.h", '#include "emulate/calls/b.h"', "expected emulate/runtime to include runtime of"),
        ("core/emulate/calls/a.h", '#include "emulate/operators/b.h"', "expected emulate/calls to include runtime"),
        ("core/emulate/a.h", "#pragma once", "expected a file of emulate to be in runtime, calls, operators"),
        ("core/utils/a.h", "#pragma once", "expected a folder of core/ to be one of model"),
        (
            "core/guard/a.cpp",
            "#if TORCH_VERSION_MINOR >= 13",
            "expected only core/emulate/runtime/device.cpp to ask for",
        ),
        ("devsan/__init__.py", f"import torch.nn\n{LATE}importlib", "expected devsan to import nothing heavy at"),
        ("devsan/autoload.py", f"{LATE}devsan.session, devsan.errors\ntry:\n import rich\nfinally:\n pass", "got rich"),
        ("devsan/options.py", "from devsan.report import Report", "expected devsan.report to import nothing heavy"),
        ("devsan/profiles.py", "from . import report", "devsan/report.py:1: expected devsan.report"),
        ("devsan/testing/plugin.py", "from devsan import _core", "got devsan._core"),
        ("devsan/cli/main.py", "import devsan.job.notes", "expected devsan.job.notes to"),
        ("devsan/a.py", f"{LATE}devsan.options", "devsan/a.py:2: expected the import of devsan.options at the top"),
        (
            "devsan/a.py",
            "class A:\n def b(self):\n  if self:\n   from devsan import job",
            "a.py:4: expected the import",
        ),
        ("devsan/job/a.py", "async def a():\n from . import watchdog", "the import of devsan.job.watchdog at the top"),
        ("devsan/job/a.py", "def a():\n from devsan.job.notes import finalize", "the import of devsan.job.notes at"),
        ("devsan/job/a.py", f"{LATE}devsan.job.finalize", "expected the import of devsan.job.finalize at the top"),
        ("devsan/a.py", f"{LATE}json.decoder", "expected the import of json.decoder at the top of the file"),
        ("devsan/a.py", "import importlib\nimportlib.import_module('json')", "a.py:2: expected an import statement"),
        (
            "devsan/job/watchdog.py",
            "def main():\n    from devsan.options import VARIABLE",
            "expected a late import of devsan.job.finalize, got none",
        ),
    ],
)
def test_a_violation_is_found_and_placed(tmp_path: Path, path: str, text: str, sentence: str) -> None:
    tree = lawful_tree(tmp_path)
    write(tree, path, text + "\n")
    result = check("check_imports.py" if path.endswith(".py") else "check_layers.py", tree)
    assert result.returncode == 1
    assert sentence in result.stdout
    assert re.match(r"\S+\.(h|cpp|py):?\d*: expected ", result.stdout)
    assert len(result.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["torch.__version__ >= '2.9'", "f(torch.__version__) < f('2')", "hasattr(torch._C, 'a')"]
)
def test_one_folder_tells_versions_of_torch_apart(tmp_path: Path, text: str) -> None:
    tree = lawful_tree(tmp_path)
    write(tree, "devsan/cuda/a.py", f"import torch\nb = {text}\n")
    assert check("check_layers.py", tree).stdout == ""
    write(tree, "devsan/job/a.py", f"import torch\nb = {text}\nc = str(torch.__version__)\n")
    expected = "devsan/job/a.py:2: expected only devsan/cuda to ask which torch it is\n"
    assert check("check_layers.py", tree).stdout == expected
