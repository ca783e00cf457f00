"""What DevSan says of failures that need one GPU: after the fact on the real one, and with records on the emulated one.

The programs are the cases of tests/regressions that ask for one GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from expectation import CASES, expectation

OUTSIDE = True


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for case in CASES:
        expected = expectation(case.read_text(encoding="utf-8"))
        if expected.gpus == 1:
            yield case.stem, lambda case=case, code=expected.code: _reported(case, code)


def _reported(case: Path, code: str) -> dict[str, Any]:
    profile = os.environ.get("DEVSAN_PARITY_PROFILE")
    words = [sys.executable, "-m", "devsan", "run", "--gpus", f"1:{profile}" if profile else "real", "--force"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        command = [*words, "-o", str(out), str(case)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=folder)
        document = json.loads(out.read_text(encoding="utf-8")) if out.exists() else None
    if document is None:
        return {
            "expected": code,
            "error": done.stderr.strip().splitlines()[-1:],
            "code": "none",
            "operands": [],
        }
    findings = document["findings"] or [{}]
    operands = findings[0].get("operands", [])
    return {
        "expected": code,
        "code": findings[0].get("code", "none"),
        "error": findings[0].get("sentence", ""),
        "operands": [operand.get("name") or operand.get("qualified_name") for operand in operands],
    }


def compared(real: dict[str, Any], emulated: dict[str, Any]) -> tuple[list[str], int, str]:
    counts: Counter[str] = Counter()
    texts = []
    for title, theirs in real.items():
        ours = emulated.get(title, {})
        if not isinstance(theirs, dict) or not isinstance(ours, dict):
            texts.append(f"{title}: {theirs} / {ours}")
            continue
        counts["the expected code on the GPU"] += theirs["code"] == theirs["expected"]
        counts["the expected code on the emulation"] += ours.get("code") == theirs["expected"]
        for name in ("code", "error", "operands"):
            counts[f"the same {name}"] += theirs[name] == ours.get(name)
        if theirs != ours:
            texts.append(f"{title}\n  GPU:       {json.dumps(theirs)}\n  emulation: {json.dumps(ours)}")
    return (
        texts,
        len(texts),
        f"{len(real)} programs; " + "; ".join(f"{name}: {count}" for name, count in counts.items()),
    )
