"""Values of arguments that the installed release of a library does not take."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.installed import Installed
from devsan.doctor.installed.values import accepted


@pytest.fixture
def installed(empty):
    """A set-up with the libraries of this environment."""
    empty.installed = Installed()
    return empty


def told(setup):
    return [(str(each.title).partition(" does not take ")[2], each.fixes[0].text) for each in setup.findings()
            if each.code == "DV421"]  # fmt: skip


HEADS = {
    "L": "import lightning as L\n", "pl": "import pytorch_lightning as pl\n",
    "TrainingArguments": "from transformers import TrainingArguments\n",
    "Accelerator": "from accelerate import Accelerator\n",
}  # fmt: skip


def headed(call: str) -> str:
    return HEADS[call.partition("(")[0].partition(".")[0]] + call + "\n"


@pytest.mark.parametrize(
    ("call", "shown", "fix"),
    [
        ('TrainingArguments("o", save_strategy="step")', "save_strategy='step'", "write save_strategy='steps'"),
        ('TrainingArguments("o", eval_strategy="epochs")', "eval_strategy='epochs'", "write eval_strategy='epoch'"),
        ('TrainingArguments("o", eval_strategy="none")', "eval_strategy='none'", "write eval_strategy='no'"),
        ('TrainingArguments("o", lr_scheduler_type="cosin")', "lr_scheduler_type='cosin'",
         "write lr_scheduler_type='cosine'"),
        ('TrainingArguments("o", optim="adamw_tourch")', "optim='adamw_tourch'", "write optim='adamw_torch'"),
        ('TrainingArguments("o", optim="adamw_hf")', "optim='adamw_hf'", "write optim='adamw_torch'"),
        ('TrainingArguments("o", optim="shampoo")', "optim='shampoo'", "write one of these"),
        ('Accelerator(mixed_precision="fp17")', "mixed_precision='fp17'", "write mixed_precision='fp16'"),
        ('Accelerator(mixed_precision="fp32")', "mixed_precision='fp32'", "write mixed_precision='no'"),
        ('L.Trainer(precision="bf17")', "precision='bf17'", "write precision='bf16'"),
        ('L.Trainer(precision="fp16")', "precision='fp16'", "write precision='16-mixed'"),
        ("L.Trainer(precision=8)", "precision=8", "write one of these"),
        ('L.Fabric(precision="16-mixd")', "precision='16-mixd'", "write precision='16-mixed'"),
        ('pl.Trainer(accelerator="ddp")', "accelerator='ddp'", 'write accelerator="gpu", strategy="ddp"'),
        ('pl.Trainer(accelerator="dp")', "accelerator='dp'", 'write accelerator="gpu", strategy="ddp"'),
        ('L.Trainer(strategy="dp")', "strategy='dp'", 'write strategy="ddp"'),
        ('L.Trainer(strategy="ddp_sharded")', "strategy='ddp_sharded'", 'write strategy="fsdp"'),
        ('L.Trainer(strategy="depspeed_stage_2")', "strategy='depspeed_stage_2'", 'write strategy="deepspeed_stage_2"'),
    ],
)  # fmt: skip
def test_a_value_that_is_refused(installed, call, shown, fix):
    installed.write("train.py", headed(call))
    assert told(installed) == [(shown, fix)]


@pytest.mark.parametrize(
    "call",
    [
        'TrainingArguments("o", eval_strategy="steps", optim="adamw_torch", lr_scheduler_type="cosine")',
        'TrainingArguments("o", save_strategy=kind, report_to="none", debug="underflow_overflow")',
        "Accelerator(mixed_precision='bf16', log_with='wandb', rng_types=['torch'])",
        "Accelerator(mixed_precision=None)",
        "L.Trainer(accelerator='gpu', strategy='ddp_find_unused_parameters_true', precision='bf16-mixed')",
        "L.Trainer(accelerator='npu', strategy='auto', precision=16)", "L.Trainer(accelerator='hpu', precision='32')",
        "L.Trainer(strategy='colossalai')", "L.Trainer(accelerator='auto')", "L.Trainer(accelerator='mps')",
        "L.Trainer(accelerator='params', devices='auto')", "L.Trainer(strategy='FSDP', accelerator='cuda')",
        "pl.Trainer(accelerator='tpu', strategy='xla_debug')", "pl.Trainer(strategy='ddp_notebook', precision=None)",
        "L.Fabric(strategy='dp')", "L.Trainer(strategy='ddp_fork_find_unused_parameters_false')",
    ],
)  # fmt: skip
def test_a_value_that_is_taken_or_is_anothers(installed, call):
    installed.write("train.py", headed(call))
    assert told(installed) == []


def test_a_strategy_that_the_script_registers(installed):
    installed.write("train.py", "from lightning.pytorch.strategies import StrategyRegistry\nimport lightning as L\n"
                                "StrategyRegistry.register('dp', Mine)\nL.Trainer(strategy='dp')\n")  # fmt: skip
    assert told(installed) == []


def test_a_value_on_the_command_line(installed):
    installed.write("train.py", "from transformers import HfArgumentParser, TrainingArguments\n"
                                "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n")  # fmt: skip
    installed.launch = "torchrun --nproc_per_node=4 train.py --output_dir o --eval_strategy epochs --optim sgd"
    assert told(installed) == [("--eval_strategy epochs", "write --eval_strategy epoch")]


KIND = "from enum import Enum\nclass Kind(Enum):\n    A = 'a'\n"


@pytest.mark.parametrize(
    ("source", "values"),
    [
        (KIND + "class T:\n    def __init__(self, kind):\n        kind = Kind(kind)\n", {"kind": ("a",)}),
        (KIND + "class T:\n    def __init__(self, kind):\n        if kind not in Kind:\n            raise ValueError\n",
         {"kind": ("a",)}),
        (KIND + "class T:\n    def __init__(self, kind):\n        kind = kind[:1]\n        kind = Kind(kind)\n", {}),
        (KIND + "class T:\n    def __init__(self, kind):\n        if old:\n            kind = Kind(kind)\n", {}),
        (KIND + "    B = compute()\nclass T:\n    def __init__(self, kind):\n        kind = Kind(kind)\n", {}),
        (KIND + "    def _missing_(cls, value):\n        return cls.A\n"
         "class T:\n    def __init__(self, kind):\n        kind = Kind(kind)\n", {}),
        ("from typing import Literal\nclass T:\n    def __init__(self, kind: Literal['a']): ...\n", {}),
    ],
)  # fmt: skip
def test_what_the_source_says_of_values(tmp_path: Path, source, values):
    (tmp_path / "__init__.py").write_text(source)
    assert accepted(Installed(lambda name: [tmp_path]), "some", "T") == values
