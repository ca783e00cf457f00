"""The configurations of strategies: what launches them, and what the launchers' own code reads in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devsan.plan.launched.accelerate_way import FILE, AccelerateWay
from devsan.plan.launched.configuration import Lever
from devsan.plan.launched.deepspeed_way import DeepspeedWay
from devsan.plan.launched.launch import read
from devsan.plan.launched.strategy import DDP, FSDP2, LEANEST, STRATEGIES, ZERO_3

TRAINER = "from transformers import Trainer\n"


def accelerate_way(folder: Path, command: str) -> AccelerateWay:
    (folder / "train.py").write_text(TRAINER)
    return AccelerateWay(read(command.split(), str(folder), {}, 4), str(folder), 4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: each.name)
def test_accelerate_reads_its_file(strategy: object, tmp_path: Path) -> None:
    config_args = pytest.importorskip("accelerate.commands.config.config_args")
    way = accelerate_way(tmp_path, "torchrun --nproc-per-node 4 train.py")
    configuration = way.configuration(strategy)  # type: ignore[arg-type]
    (tmp_path / FILE).write_text(configuration.files[FILE])
    config = config_args.load_config_from_file(str(tmp_path / FILE))
    assert (config.num_processes, str(config.mixed_precision)) == (4, "no")
    if strategy is DDP:
        assert config.distributed_type.value == "MULTI_GPU"
    elif strategy is FSDP2:
        assert config.distributed_type.value == "FSDP" and config.fsdp_config["fsdp_version"] == 2
    else:
        assert config.distributed_type.value == "DEEPSPEED"
        found = config.deepspeed_config
        assert found["zero_stage"] == strategy.stage  # type: ignore[attr-defined]
        assert (found["offload_param_device"] == "cpu") == (strategy is LEANEST)


def test_precision_and_words_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("mixed_precision: bf16\ndistributed_type: NO\nnum_processes: 1\n")
    way = accelerate_way(tmp_path, "accelerate launch --config_file own.yaml train.py --lr 1")
    configuration = way.configuration(ZERO_3)
    assert "mixed_precision: bf16\n" in configuration.files[FILE] and "num_processes: 4\n" in configuration.files[FILE]
    assert configuration.command_in("F")[-3:] == ["train.py", "--lr", "1"]
    assert "F/accelerate.yaml" in configuration.command_in("F")


def test_levers(tmp_path: Path) -> None:
    way = accelerate_way(tmp_path, "torchrun train.py --per_device_train_batch_size=8 --x 1")
    assert way.batch == 8 and way.can_checkpoint(FSDP2) and not way.can_checkpoint(ZERO_3)
    assert way.configuration(FSDP2, Lever(batch=4)).command[-3:] == ("--per_device_train_batch_size=4", "--x", "1")
    assert "num_processes: 8\n" in way.configuration(FSDP2, Lever(gpus=8)).files[FILE]
    assert "fsdp_activation_checkpointing: true\n" in way.configuration(FSDP2, Lever(checkpointing=True)).files[FILE]


def test_the_document_of_deepspeed_keeps_what_does_not_share(tmp_path: Path) -> None:
    zero = {"stage": 1, "reduce_bucket_size": 7, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}
    own = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "zero_optimization": zero}
    (tmp_path / "ds.json").write_text(json.dumps(own))
    (tmp_path / "train.py").write_text("import deepspeed\n")
    command = ("deepspeed", "--num_gpus", "4", "train.py", "--deepspeed_config", "ds.json")
    way = DeepspeedWay(read(command, str(tmp_path), {}, 4), command, 4)
    assert FSDP2 not in way.strategies and way.batch == 2
    plain = way.configuration(DDP)
    assert plain.command == command and plain.replaces == {str(tmp_path / "ds.json"): "ds.json"}
    assert json.loads(plain.files["ds.json"]) == {**own, "zero_optimization": {"stage": 0, "reduce_bucket_size": 7}}
    found = json.loads(way.configuration(LEANEST).files["ds.json"])["zero_optimization"]
    assert found["offload_optimizer"] == {"device": "cpu", "ratio": 0.5} and found["offload_param"] == {"device": "cpu"}
    more = way.configuration(ZERO_3, Lever(gpus=8, batch=1))
    assert more.command[:3] == ("deepspeed", "--num_gpus", "8")
    settings = json.loads(more.files["ds.json"])
    assert "train_batch_size" not in settings and settings["train_micro_batch_size_per_gpu"] == 1
