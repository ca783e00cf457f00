"""Arguments of the Trainer that the installed transformers does not take, in calls and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.signatures import Signatures, read_signatures, signatures

HEAD = "from transformers import Seq2SeqTrainingArguments, Trainer, TrainingArguments\n"
PARSER = """\
from dataclasses import dataclass, field
from transformers import HfArgumentParser, TrainingArguments

@dataclass
class ModelArguments:
    logging_name: str = "x"

model, training = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
"""


@pytest.fixture
def installed(empty):
    """A set-up with what the transformers of this environment takes."""
    empty.signatures = signatures()
    return empty


def told(setup):
    return [(str(each.title), each.fixes[0].text) for each in setup.findings() if each.code == "DV421"]


@pytest.mark.parametrize(
    ("call", "name", "fix"),
    [
        ('TrainingArguments("o", evaluation_strategy="steps")', "evaluation_strategy", "write eval_strategy"),
        ('TrainingArguments("o", no_cuda=flag)', "no_cuda", "write use_cpu"),
        ('TrainingArguments("o", learning_rte=1e-4)', "learning_rte", "write learning_rate"),
        ('TrainingArguments("o", fsdp_transformer_layer_cls_to_wrap="GPT2Block")', "fsdp_transformer_layer_cls_to_wrap",
         'pass fsdp_config={"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]} instead'),
        ('TrainingArguments("o", split_batches=True)', "split_batches",
         'pass accelerator_config={"split_batches": True} instead'),
        ('Seq2SeqTrainingArguments("o", warmup_ratio=0.1)', "warmup_ratio", "pass warmup_steps=0.1 instead"),
        ('TrainingArguments("o", save_safetensors=True)', "save_safetensors", "remove it"),
        ("Trainer(model, args, tokenizer=tokenizer)", "tokenizer", "write processing_class"),
    ],
)  # fmt: skip
def test_a_keyword_that_the_release_does_not_take(installed, call, name, fix):
    installed.write("train.py", HEAD + call + "\n")
    ((title, advice),) = told(installed)
    assert title.endswith(f" has no argument {name}")
    assert advice == fix


def test_only_a_known_rename_is_written(installed):
    installed.write("train.py", HEAD + 'TrainingArguments("o", evaluation_strategy="no", learning_rte=1e-4)\n')
    strategy, rate = (each for each in installed.findings() if each.code == "DV421")
    assert [(edit.before, edit.after, edit.safe) for edit in (*strategy.fixes[0].edits, *rate.fixes[0].edits)] == [
        ("evaluation_strategy", "eval_strategy", True), ("learning_rte", "learning_rate", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "script",
    [
        HEAD + 'TrainingArguments("o", eval_strategy="steps", bf16=True, **more)',
        HEAD + 'Seq2SeqTrainingArguments("o", predict_with_generate=True)',
        "from setfit import TrainingArguments\nTrainingArguments(evaluation_strategy='steps')",
        "from lightning import Trainer\nTrainer(accelerator='gpu', devices=2)",
        "import transformers\nclass TrainingArguments(transformers.TrainingArguments):\n    own: int = 1\n"
        "TrainingArguments('o', own=2)",
    ],
)
def test_arguments_that_are_taken_and_classes_of_others(installed, script):
    installed.write("train.py", script + "\n")
    assert told(installed) == []


def test_an_option_that_the_parser_refuses(installed):
    installed.write("train.py", PARSER)
    installed.launch = "torchrun --nproc_per_node=4 train.py --output_dir o --group_by_length --logging_name a"
    assert told(installed) == [
        (f"transformers {installed.signatures.version} has no argument --group_by_length",
         "pass --train_sampling_strategy group_by_length instead"),
    ]  # fmt: skip


def test_an_older_release_is_given_its_own_name(installed):
    known = installed.signatures.taken
    older = {name: (taken - {"eval_strategy"}) | {"evaluation_strategy"} for name, taken in known.items()}
    installed.signatures = Signatures("4.30.0", older)
    installed.write("train.py", HEAD + 'TrainingArguments("o", eval_strategy="steps")\n')
    assert [fix for _, fix in told(installed)] == ["write evaluation_strategy"]


def test_source_that_cannot_be_read_is_no_reason_to_speak(tmp_path: Path, installed):
    (tmp_path / "training_args.py").write_text("class TrainingArguments(:\n")
    (tmp_path / "trainer.py").write_text("class Trainer:\n    def __init__(self, model, **more): ...\n")
    installed.signatures = read_signatures(tmp_path)
    assert installed.signatures == Signatures()
    installed.write("train.py", HEAD + 'TrainingArguments("o", evaluation_strategy="steps")\n')
    assert told(installed) == []
