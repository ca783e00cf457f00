"""``devsan plan`` of one program: the map that it finds holds, and it says so where none does."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, cast
from unittest.mock import Mock

import programs
import pytest

from devsan.blocks.measured import Measured
from devsan.cli.plan import write_map
from devsan.fix.job import Job
from devsan.options import Options
from devsan.plan import planner
from devsan.plan.placement import Placement
from devsan.plan.rehearsal import ProgramFails, Rehearsals
from devsan.plan.result import PlanResult, Tried

MODEL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(1024, 8192), nn.Linear(8192, 1024)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 1024)
        self.blocks = nn.ModuleList(Block() for _ in range(8))
        self.head = nn.Linear(1024, 1000)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

model = Model().to("cuda")
tokens = torch.randint(1000, (BATCH, 64), device="cuda")
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
INFER = """
with torch.no_grad():
    model(tokens)
"""
BLOCK = 4 * (2 * 1024 * 8192 + 8192 + 1024)  # bytes of its parameters


def plan(tmp_path: Path, text: str, *words: str, batch: int = 2) -> CompletedProcess[str]:
    tmp_path.joinpath("train.py").write_text(f"BATCH = {batch}\n{MODEL}{text}", encoding="utf-8")
    return programs.run(["-m", "devsan", "plan", *words, "train.py"], cwd=tmp_path)


def made_on_gpu(tmp_path: Path, default: str, use: str, memory: str) -> CompletedProcess[str]:
    text = MODEL.replace('model = Model().to("cuda")', default)
    tmp_path.joinpath("train.py").write_text(f"BATCH = 2\n{text}{use}", encoding="utf-8")
    return programs.run(["-m", "devsan", "plan", "--gpus", "3", "--memory", memory, "--json", "train.py"], cwd=tmp_path)


IN_CONTEXT = "with torch.device('cuda'):\n    model = Model()"
BY_DEFAULT = "torch.set_default_device('cuda')\nmodel = Model()"


@pytest.mark.parametrize("default", [IN_CONTEXT, BY_DEFAULT])
@pytest.mark.long
def test_a_model_that_is_made_on_its_gpu_is_placed(tmp_path: Path, default: str) -> None:
    done = made_on_gpu(tmp_path, default, TRAIN, "1174MiB")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)["planned"]
    assert set(planned["placement"]["device_map"].values()) == {0, 1, 2}
    assert planned["fits"] and max(planned["peaks"].values()) > 4 * BLOCK


@pytest.mark.long
def test_a_model_that_does_not_fit_where_it_is_made_has_no_map(tmp_path: Path) -> None:
    done = made_on_gpu(tmp_path, IN_CONTEXT, INFER, "500MiB")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and "create it on the CPU" in found["planned"]["reason"]
    assert not found["levers"]


@pytest.mark.long
def test_a_model_that_is_wrapped_once_it_is_placed_was_not_made_there(tmp_path: Path) -> None:
    wrapped = 'model = nn.Sequential(Model().to("cuda"))\nloss = nn.MSELoss()'
    done = made_on_gpu(tmp_path, wrapped, INFER, "500MiB")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "embed" in found["planned"]["placement"]["device_map"] and found["planned"]["fits"]


@pytest.mark.long
def test_training_is_planned_for_gradients_and_optimizer_state(tmp_path: Path) -> None:
    done = plan(tmp_path, TRAIN, "--gpus", "3", "--memory", "1174MiB", "--json", "-o", "map.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    device_map = json.loads(tmp_path.joinpath("map.json").read_text())
    assert list(device_map) == ["embed", *(f"blocks.{number}" for number in range(8)), "head"]
    assert device_map == found["planned"]["placement"]["device_map"]
    assert "cuda:0 is out of memory" in found["as_it_is"]["reason"]
    assert device_map["embed"] == 0
    assert len(set(device_map.values())) == 3
    block = found["measured"]["blocks"][1]
    assert (block["parameters"], block["gradients"]) == (BLOCK, BLOCK)
    assert 2 * BLOCK <= block["optimizer_state"] <= 2 * BLOCK + 4096
    assert found["measured"]["trains"]
    planned = found["planned"]
    assert planned["fits"]
    for ordinal, expected in enumerate(planned["placement"]["peaks"]):
        assert planned["peaks"][f"cuda:{ordinal}"] == pytest.approx(expected, rel=0.05)
    assert planned["transferred"] > 0


def test_inference_takes_fewer_gpus(tmp_path: Path) -> None:
    done = plan(tmp_path, INFER, "--gpus", "3", "--memory", "1174MiB", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["planned"]["placement"]["device_map"].values()) == {0}
    assert not found["measured"]["trains"]
    assert found["as_it_is"]["fits"]


@pytest.mark.long
def test_where_nothing_fits_levers_are_tried(tmp_path: Path) -> None:
    done = plan(tmp_path, TRAIN, "--gpus", "2", "--memory", "1174MiB", "-o", "map.json")
    assert done.returncode == 1, done.stderr
    assert "map.json is not written: no map fits" in done.stderr and not tmp_path.joinpath("map.json").exists()
    assert re.search(r"^devsan: 3 GPUs: fits: cuda:0.* \(rehearsal \d+, \d:\d\d\)$", done.stderr, re.MULTILINE)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "planned map does not fit: no map fits" in lines
    assert "gradient checkpointing not tried: the model does not support it" in lines
    # Its labels are not what the model is given.
    failure = "ValueError: Expected input batch_size (64) to match target batch_size (128)."
    assert f"smaller batch not tried: the program fails with it: {failure}" in " ".join(lines)
    assert any(line.startswith("3 GPUs fits: cuda:0") for line in lines)
    assert any(line.startswith("a map fits 2 GPUs of ") for line in lines)
    assert "- as it is: cuda:0 runs out of memory in the optimizer's step" in " ".join(lines)
    assert "it fits with: 3 GPUs" in " ".join(lines)


def test_the_map_of_a_lever_is_written_where_the_planned_one_does_not_fit(tmp_path: Path, capsys: Any) -> None:
    placement = Placement({"embed": 0, "head": 1}, [1, 1], 8)
    more, smaller = Tried("gpus", 4, True, placement=placement), Tried("batch", 2, True, placement=placement)
    path = tmp_path / "map.json"
    result = PlanResult([], cast(Measured, None), Tried("as it is"), Tried("map"), [more, smaller])
    write_map(result, str(path))
    assert json.loads(path.read_text()) == {"embed": 0, "head": 1}
    assert "the device map for this change is in" in capsys.readouterr().err
    path.unlink()
    write_map(replace(result, levers=[more]), str(path))
    assert not path.exists(), "there are not so many GPUs"


def test_a_map_that_moves_more_than_the_program_does_says_so(tmp_path: Path, capsys: Any) -> None:
    placement = Placement({"embed": 0, "head": 1}, [1, 1], 8)
    planned = Tried("map", fits=True, transferred=4096, placement=placement)
    own = Tried("as it is", fits=True, transferred=1024)
    write_map(PlanResult([], cast(Measured, None), own, planned, []), str(tmp_path / "map.json"))
    said = "the program as it is fits, and moves 1 KiB between GPUs, not 4 KiB"
    assert said in " ".join(capsys.readouterr().err.split())
    write_map(PlanResult([], cast(Measured, None), planned, own, []), str(tmp_path / "map.json"))
    assert "as it is" not in capsys.readouterr().err


@pytest.mark.long
def test_the_context_is_that_of_the_gpus_at_hand(tmp_path: Path) -> None:
    """It is measured where memory does not matter, and is smaller on a GPU with little."""
    done = plan(tmp_path, INFER, "--gpus", "2", "--memory", "400MiB", "--json")
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert not found["as_it_is"]["fits"]
    assert found["planned"]["fits"] and len(found["planned"]["peaks"]) == 2


def test_what_cannot_be_planned_is_said_in_one_sentence(tmp_path: Path) -> None:
    done = plan(tmp_path, "raise ValueError('no data')")
    assert (done.returncode, done.stdout) == (2, "")
    assert "got ValueError: no data" in done.stderr.splitlines()[-1]
    assert "; got Model, whose forward was not called\n" in plan(tmp_path, "").stderr
    tmp_path.joinpath("train.py").write_text("import torch\ntorch.nn.Linear(2, 2).to('cuda')\n")
    done = programs.run(["-m", "devsan", "plan", "train.py"], cwd=tmp_path)
    assert "; got Linear, which is one block\n" in done.stderr
    done = programs.run(["-m", "devsan", "plan", "--", sys.executable, "train.py"], cwd=tmp_path)
    assert done.returncode == 2
    assert "expected torchrun, accelerate launch or deepspeed" in done.stderr


@pytest.mark.long
def test_adapters_that_peft_moves_are_not_the_model(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    tmp_path.joinpath("train.py").write_text("""\
import torch
from peft import LoraConfig, get_peft_model

with torch.device("cuda"):
    model = torch.nn.ModuleDict({"q": torch.nn.Linear(8, 8), "v": torch.nn.Linear(8, 8)})
get_peft_model(model, LoraConfig(r=2, target_modules=["q"]))
""")
    done = programs.run(["-m", "devsan", "plan", "train.py"], cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.endswith("; got none\n"), done.stderr


@pytest.mark.long
def test_a_map_is_judged_by_its_entries_and_a_rehearsal(tmp_path: Path) -> None:
    good = {"embed": 0, **{f"blocks.{number}": number // 4 for number in range(8)}, "head": 1}
    tmp_path.joinpath("good.json").write_text(json.dumps(good))
    done = plan(tmp_path, INFER, "--gpus", "2", "--check-map", "good.json")
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "Model: 0 problems of the map")
    bad = {**good, "blocks.3.up": 0, "blocks.3.down": 1, "blocks.9": 1, "blocks.5": 7}
    del bad["head"], bad["blocks.3"]
    tmp_path.joinpath("bad.json").write_text(json.dumps(bad))
    done = plan(tmp_path, INFER, "--gpus", "2", "--check-map", "bad.json", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert [problem["text"] for problem in found["problems"]] == [
        "blocks.5 is on cuda:7, and there are 2 GPUs",
        "blocks.9 is no module and no tensor of Model",
        "head has no entry, and no module that contains it has one",
        "blocks.3, a Block, is cut: it is on cuda:0, cuda:1",
    ]


def test_a_file_that_is_no_map(tmp_path: Path) -> None:
    tmp_path.joinpath("map.json").write_text('{"embed": true}')
    done = plan(tmp_path, INFER, "--check-map", "map.json")
    assert done.returncode == 2
    assert done.stderr == "devsan: expected the number of a GPU, or a device, got True for 'embed' in 'map.json'\n"


@pytest.mark.long
def test_a_program_that_mixes_devices_when_it_is_split_is_said_to_fail(tmp_path: Path) -> None:
    mixed = INFER.replace("model(tokens)", "model(tokens) + torch.ones(1000, device=model.blocks[0].up.weight.device)")
    done = plan(tmp_path, mixed, "--gpus", "2", "--memory", "400MiB")
    assert done.returncode == 1, done.stderr
    assert "as it is     does not fit: cuda:0 is out of memory" in done.stdout
    assert "planned map  fails: DV" in done.stdout
    assert "GPUs" not in done.stdout and "batch" not in done.stdout, "levers are for memory"


@pytest.mark.long
def test_a_program_that_takes_long_is_told_to_take_few_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("import torch\nraise ValueError('no data')\n")
    options = Options().updated({"gpus": "2", "full_size": "yes"})
    job = Job(options, (str(tmp_path / "train.py"),), str(tmp_path), {**os.environ, "OMP_NUM_THREADS": "1"})
    shown = Mock()
    for most in (0.0, 600.0):
        monkeypatch.setattr(planner, "_LONG", most)
        with Rehearsals(job) as rehearsals, pytest.raises(ProgramFails, match="ValueError: no data"):
            planner.Planner(rehearsals, shown).plan()
    [told] = shown.tells.call_args_list
    assert "two or three steps of the program are enough" in told.args[0]
