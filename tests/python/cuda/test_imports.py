"""Changes to modules: to those that come, those that are there, and one whose import has begun this emulation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BESIDE = """\
import sys
from devsan.cuda.imports import AfterImport
AfterImport({"changed": lambda module: setattr(module, "made", module.made + " and changed")}).install()
made = "executed"
"""


def test_a_module_that_is_being_imported_is_changed_behind_its_import(tmp_path: Path) -> None:
    (tmp_path / "changed.py").write_text(BESIDE)
    program = "from changed import made; import changed; print(made, '|', changed.made, type(changed))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "executed and changed | executed and changed <class 'module'>\n"
