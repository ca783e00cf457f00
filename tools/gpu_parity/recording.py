"""What was observed on a GPU, kept for machines that have none: recorded/<profile>.json, a row a line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


@dataclass
class Recording:
    """What one GPU said.

    Attributes:
        gpu: as CUDA calls it.
        torch: its version.
        subjects: by subject, what was observed of each row.
    """

    gpu: str
    torch: str
    subjects: dict[str, dict[str, Any]] = field(default_factory=dict)


def read(profile: str) -> Recording | None:
    """What was recorded on that GPU, if anything."""
    file = FOLDER / f"{profile}.json"
    return Recording(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def write(profile: str, gpu: str, torch: str, subject: str, rows: dict[str, Any]) -> None:
    """Keeps the rows of a subject beside those of the others; another torch begins anew."""
    known = read(profile)
    if known is None or known.torch != torch:
        known = Recording(gpu, torch)
    known.subjects[subject] = rows
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{profile}.json").write_text(_text(known), encoding="utf-8")


def _text(recording: Recording) -> str:
    parts = []
    for subject, rows in recording.subjects.items():
        lines = ",\n".join(f"{json.dumps(title)}: {json.dumps(said)}" for title, said in rows.items())
        parts.append(f"{json.dumps(subject)}: {{\n{lines}\n}}")
    head = f'"gpu": {json.dumps(recording.gpu)},\n"torch": {json.dumps(recording.torch)},\n'
    return f'{{\n{head}"subjects": {{\n{",".join(parts)}\n}}\n}}\n'
