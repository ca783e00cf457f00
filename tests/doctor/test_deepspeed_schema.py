"""What the doctor takes for DeepSpeed's configuration, against DeepSpeed itself: in a child, because its import is slow
and starts much. One child answers for all files.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from devsan.doctor.case import Case
from devsan.doctor.document import read_document
from devsan.doctor.facts import nothing
from devsan.doctor.launch import LaunchFacts
from devsan.doctor.rules.batch_arithmetic import check as check_batch
from devsan.doctor.rules.refused_setting.values import check as check_values
from devsan.doctor.rules.refused_setting.values import schema

ROOT = Path(__file__).parents[2]

# Reads files, one a line, each with a number of ranks; answers with what DeepSpeed says.
CHILD = """
import json, sys
import deepspeed.comm
from deepspeed.runtime import config
out = sys.stdout
sys.stdout = sys.stderr
for line in sys.stdin:
    name, ranks = json.loads(line)
    config.dist.get_rank = lambda: 0
    config.dist.get_world_size = lambda *rest: ranks
    try:
        config.DeepSpeedConfig(name)
        said = ""
    except BaseException as error:
        said = type(error).__name__ + ": " + str(error)
    out.write(json.dumps(said) + "\\n")
    out.flush()
"""


@pytest.fixture(scope="module")
def deepspeed_says():
    pytest.importorskip("pydantic", reason="DeepSpeed needs it")
    try:
        if version("deepspeed") != schema()["version"]:
            pytest.skip(f"the file is of DeepSpeed {schema()['version']}, and {version('deepspeed')} is installed")
    except ImportError:
        pytest.skip("DeepSpeed is not installed")
    environment = {**os.environ, "DS_ACCELERATOR": "cpu", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "DEVSAN_OPTIONS": ""}
    environment.pop("DEVSAN_OPTIONS")
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, text=True,
    )  # fmt: skip

    def ask(file: Path, ranks: int = 1) -> str:
        child.stdin.write(json.dumps([str(file), ranks]) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    yield ask
    child.stdin.close()
    child.kill()
    child.wait(10)


def test_the_file_is_what_the_tool_writes(deepspeed_says):
    environment = {**os.environ, "DS_ACCELERATOR": "cpu", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment.pop("DEVSAN_OPTIONS", None)
    done = subprocess.run([sys.executable, ROOT / "tools/doctor/deepspeed_schema.py"], env=environment,
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    text = done.stdout[done.stdout.index("\n{") if "\n{" in done.stdout else 0 :]
    assert json.loads(text) == schema(), done.stderr[-500:]


def checked(rule: Any, file: Path, ranks: int = 0) -> list[Any]:
    case = Case(nothing({}), LaunchFacts(ranks, "torchrun" if ranks else ""), (read_document(str(file), "deepspeed"),))
    return [finding for finding in rule(case) if finding.severity == "error"]


VALUES = [0, 1, 2, 3, 4, -1, 1.0, 2.5, 5e8, "5", "5e8", "1.0", True, False, None, "auto", "cpu", "nvme", "none",
          "yes", "",           [], {}, {"device": "cpu"}, {"enabled": True}]  # fmt: skip


def models() -> list[tuple[str, str]]:
    found = []
    for top, taken in schema()["top"].items():
        if taken["type"] == "object" and top != "bfloat16":
            found += [(top, name) for name in schema()["models"][taken["model"]]["fields"]]
    return found


def test_values_are_refused_as_deepspeed_refuses_them(deepspeed_says, tmp_path):
    chosen = random.Random(7)
    differing = []
    for number in range(400):
        top, name = chosen.choice(models())
        value = chosen.choice(VALUES)
        taken = schema()["models"][schema()["top"][top]["model"]]["fields"][name]
        name = taken.get("alias", name) if chosen.random() < 0.5 else name
        content = {
            "train_batch_size": 8,
            top: {"stage": 3, name: value} if top == "zero_optimization" else {name: value},
        }
        if (
            taken["type"] == "any"
            or "deprecated" in taken
            or name in ("loss_scale", "overlap_comm", "compute_grad_norm")
        ):
            continue  # what a validator of the model's own says is not in the file
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(content))
        said = deepspeed_says(file)
        refused = said.startswith(("ValidationError", "TypeError"))
        if refused != bool(checked(check_values, file)):
            differing.append((content, said[:200]))
    assert differing == []


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_batches_are_computed_as_deepspeed_computes_them(deepspeed_says, tmp_path, ranks):
    sizes = (None, 0, 1, 2, 6, 8, 12, 24)
    differing = []
    for train in sizes:
        for micro in (None, 1, 2, 3):
            for steps in (None, 1, 2):
                given = {
                    "train_batch_size": train,
                    "train_micro_batch_size_per_gpu": micro,
                    "gradient_accumulation_steps": steps,
                }
                file = tmp_path / "ds.json"
                file.write_text(json.dumps({name: number for name, number in given.items() if number is not None}))
                said = deepspeed_says(file, ranks)
                case = Case(nothing({}), LaunchFacts(ranks, "torchrun"), (read_document(str(file), "deepspeed"),))
                if bool(said) != bool(list(check_batch(case))):
                    differing.append((given, said))
    assert differing == []
