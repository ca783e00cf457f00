"""The tree keeps to its own rules, and the script that says so can tell when it does not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check_layers(tree: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "tools" / "check_layers.py"
    return subprocess.run([sys.executable, script, tree], capture_output=True, text=True, timeout=60, check=False)


def write(tree: Path, path: str, text: str) -> None:
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def lawful_tree(tree: Path) -> Path:
    write(tree, "core/model/device.h", "#pragma once\n#include <string>\n")
    write(tree, "core/memory/ledger.h", '#pragma once\n#include "model/device.h"\n')
    write(tree, "core/guard/verdict.cpp", '#include "guard/verdict.h"\n#include <ATen/ATen.h>\n')
    write(tree, "core/emulate/runtime/kernel.cpp", '#include <torch/library.h>\n#include "memory/ledger.h"\n')
    write(tree, "core/intercept/door.cpp", '#include "emulate/runtime/kernel.h"\n#include "guard/verdict.h"\n')
    write(tree, "devsan/__init__.py", "def emulate():\n    import torch\n")
    write(tree, "devsan/options.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n")
    write(tree, "devsan/report.py", "import rich\n")
    return tree


def test_this_tree_keeps_the_order_of_the_layers() -> None:
    result = check_layers(ROOT)
    assert (result.stdout, result.returncode) == ("", 0)


def test_a_lawful_sample_passes(tmp_path: Path) -> None:
    result = check_layers(lawful_tree(tmp_path))
    assert (result.stdout, result.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        ("core/model/a.h", '#include "memory/ledger.h"', "expected model to include no other folder"),
        ("core/memory/a.h", "#include <c10/core/Device.h>", "expected memory to know nothing of torch"),
        ("core/diagnose/a.cpp", "# include <torch/types.h>", "expected diagnose to know nothing of torch"),
        ("core/emulate/runtime/a.cpp", '#include "guard/verdict.h"', "expected emulate to include model, memory"),
        ("core/guard/a.cpp", '#include "emulate/runtime/kernel.h"', "expected guard to include model, memory, record"),
        ("core/record/a.cpp", '#include "intercept/door.h"', "expected record to include model, got"),
        ("core/guard/a.cpp", "#include <torch/library.h>", "expected only intercept to register with torch"),
        ("core/emulate/runtime/a.cpp", '#include "kernel.h"', 'expected "folder/file" for a file of ours'),
        ("core/emulate/runtime/a.h", '#include "emulate/calls/b.h"', "expected emulate/runtime to include runtime of"),
        ("core/emulate/calls/a.h", '#include "emulate/operators/b.h"', "expected emulate/calls to include runtime"),
        ("core/emulate/a.h", "#pragma once", "expected a file of emulate to be in runtime, calls, operators"),
        ("core/utils/a.h", "#pragma once", "expected a folder of core/ to be one of model"),
        ("devsan/__init__.py", "import torch.nn", "expected devsan to import nothing heavy at module level"),
        ("devsan/autoload.py", "try:\n    from rich import print\nexcept ImportError:\n    pass", "got rich"),
        ("devsan/options.py", "from devsan.report import Report", "expected devsan.report to import nothing heavy"),
        ("devsan/profiles.py", "from . import report", "devsan/report.py:1: expected devsan.report"),
        ("devsan/testing/plugin.py", "from devsan import _core", "got devsan._core"),
    ],
)
def test_a_violation_is_found_and_placed(tmp_path: Path, path: str, text: str, sentence: str) -> None:
    tree = lawful_tree(tmp_path)
    write(tree, path, text + "\n")
    result = check_layers(tree)
    assert result.returncode == 1
    assert sentence in result.stdout
    assert re.match(r"\S+\.(h|cpp|py):?\d*: expected ", result.stdout)
    assert len(result.stdout.splitlines()) == 1
