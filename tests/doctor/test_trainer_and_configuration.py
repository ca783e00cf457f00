"""What the Trainer gets where nothing gives it: the defaults, if a parser of the command line makes its arguments."""

from __future__ import annotations

import dataclasses

import pytest

from devsan.doctor.rules.trainer_and_configuration import PAIRS

SETTINGS = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 4,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
}
SCRIPT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments
{derived}
model, args = HfArgumentParser((ModelArguments, {name})).parse_args_into_dataclasses()
Trainer(model, args).train()
"""
DERIVED = "@dataclass\nclass Own(TrainingArguments):\n    gradient_accumulation_steps: int = 4\n"


def differing(setup, words: str, name: str = "TrainingArguments", derived: str = "") -> list[str]:
    """The settings of DeepSpeed's file that the Trainer gets differently."""
    setup.launch = f"torchrun --nproc-per-node 2 train.py --output_dir out --deepspeed ds_config.json {words}"
    setup.write("ds_config.json", SETTINGS)
    setup.write("train.py", SCRIPT.format(name=name, derived=derived))
    return [finding.title.partition(" is ")[0] for finding in setup.findings() if finding.code == "DV416"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "bf16.enabled"]),
        ("--per_device_train_batch_size 4 --bf16", ["gradient_accumulation_steps"]),
        ("--per_device_train_batch 4 --bf16_full_eval", ["gradient_accumulation_steps"]),  # argparse reads the prefix
        ("--auto_find_batch_size --bf16 --gradient_accumulation_steps=4", []),
    ],
)
def test_what_the_command_line_does_not_say_has_its_default(empty, words: str, found: list[str]):
    assert differing(empty, words) == found


def test_a_class_of_the_script_may_set_other_defaults(empty):
    assert differing(empty, "--bf16", "Own", DERIVED) == ["train_micro_batch_size_per_gpu"]


@pytest.mark.parametrize(
    ("name", "derived"),
    [("SFTConfig", ""), ("Unknown", ""), ("TrainingArguments", "parser.set_defaults(bf16=True)")],
)
def test_defaults_that_are_not_known_are_not_compared(empty, name: str, derived: str):
    assert differing(empty, "", name, derived) == []


def test_the_defaults_are_those_of_transformers():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    defaults = {field.name: field.default for field in dataclasses.fields(transformers.TrainingArguments)}
    assert {name: default for _, name, default in PAIRS} == {name: defaults[name] for _, name, _ in PAIRS}


@pytest.mark.parametrize(
    ("steps", "words", "found"),
    [
        (10, "", ["scheduler.params.warmup_num_steps"]),
        (10, "--warmup_steps 10", []),
        (1, "", []),  # no warmup is one step
        (10, "--warmup_ratio 0.1", []),
        (10, "--warmup_steps 0.1", []),  # of steps that the Trainer counts
    ],
)
def test_the_warmup_of_a_scheduler(empty, steps: int, words: str, found: list[str]):
    empty.launch = f"torchrun --nproc-per-node 2 train.py --output_dir out --deepspeed ds_config.json {words}"
    scheduler = {"type": "WarmupLR", "params": {"warmup_num_steps": steps}}
    empty.write("ds_config.json", {"scheduler": scheduler, "zero_optimization": {"stage": 2}})
    empty.write("train.py", SCRIPT.format(name="TrainingArguments", derived=""))
    titles = [finding.title for finding in empty.findings() if finding.code == "DV416"]
    assert [title.partition(" is ")[0] for title in titles] == found


def help_of(finding) -> list[str]:
    return [fix.text for fix in finding.fixes]


def test_what_nobody_gave_the_trainer_yields_to_the_file(empty):
    differing(empty, "--gradient_accumulation_steps 2 --bf16")
    micro, steps = (finding for finding in empty.findings() if finding.code == "DV416")
    auto = 'write "auto": the Trainer then fills in its own value'
    assert help_of(micro) == ["pass --per_device_train_batch_size 4 to the Trainer", auto]
    assert help_of(steps) == [auto, "pass --gradient_accumulation_steps 4 to the Trainer"]
    assert not any(edit.safe for fix in micro.fixes for edit in fix.edits)  # it would train with another batch
    assert all(edit.safe for fix in steps.fixes for edit in fix.edits)


def test_a_second_format_is_not_passed_to_the_trainer(empty):
    differing(empty, "--fp16")
    (brain,) = (finding for finding in empty.findings() if finding.title.startswith("bf16"))
    assert help_of(brain) == ['write "auto": the Trainer then fills in its own value']


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--fp16 --bf16 True", ["the Trainer gets --fp16 True and --bf16 True"]),
        ("--fp16 False --bf16", []),
        ("--bf16", []),
    ],
)
def test_two_formats_on_the_command_line(empty, words: str, found: list[str]):
    differing(empty, words)
    assert [finding.title for finding in empty.findings() if finding.code == "DV414"] == found


@pytest.mark.parametrize(
    ("batch", "found"),
    [
        (16, []),  # as the Trainer computes it; that the file's own numbers make 32 is for them to say
        (32, ["train_batch_size is 32, but the Trainer computes 8 * 1 * 2 ranks = 16"]),
    ],
)
def test_the_batch_of_all_ranks_is_the_trainers(empty, batch: int, found: list[str]):
    empty.launch = "torchrun --nproc-per-node 2 train.py --output_dir out --deepspeed ds_config.json"
    empty.write("ds_config.json", {**SETTINGS, "train_batch_size": batch})
    empty.write("train.py", SCRIPT.format(name="TrainingArguments", derived=""))
    assert [finding.title for finding in empty.findings() if finding.title.startswith("train_batch_size")] == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--fsdp full_shard", ["the Trainer gets --fsdp full_shard and --deepspeed ds_config.json"]),
        ("", []),
    ],
)
def test_two_engines_on_the_command_line(empty, words: str, found: list[str]):
    differing(empty, f"--bf16 {words}")
    assert [finding.title for finding in empty.findings() if finding.code == "DV417"] == found
