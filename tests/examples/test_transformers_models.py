"""examples/transformers_models: one command finds the classes of transformers that fail over several GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "transformers_models"


@pytest.mark.long  # four cells, and the list of all classes
def test_a_class_that_fails_and_one_that_cannot_be_judged(tmp_path: Path) -> None:
    words = ["--only", "model=BertForSequenceClassification", "--only", "model=BertLayer", "--only", "gpus=2"]
    done = subprocess.run(
        [sys.executable, "-m", "devsan", "sweep", str(FOLDER / "sweep.toml"), *words, "--state", str(tmp_path),
         "--format", "json", "--jobs", "1"], capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert len(document["axes"]["model"]) > 1000
    found = {cell["values"]["model"]: cell["status"] for cell in document["cells"]}
    assert found == {"BertForSequenceClassification": "failed", "BertLayer": "skipped"}
    [group] = document["groups"]
    assert group["code"] == "DV104" and group["place"].startswith("transformers/models/bert/modeling_bert.py:")
