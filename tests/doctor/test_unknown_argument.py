"""Arguments that the installed release of a library does not take, in calls and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.installed import Installed
from devsan.doctor.packages import version

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
    """A set-up with the libraries of this environment."""
    empty.installed = Installed()
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
        (f"transformers {version('transformers')} has no argument --group_by_length",
         "pass --train_sampling_strategy group_by_length instead"),
    ]  # fmt: skip


@pytest.mark.parametrize("given", ["--tokenizer x", "--no_dataloader_pin_memory", "--logging_nam x", "--tokeni x"])
def test_options_that_the_parser_takes(installed, given):
    own = 'class ModelArguments:\n    tokenizer: str = "gpt2"'
    installed.write("train.py", PARSER.replace("class ModelArguments:", own))
    installed.launch = f"torchrun --nproc_per_node=4 train.py --output_dir o {given}"
    assert told(installed) == []


def test_options_of_a_class_from_elsewhere_are_no_slips(installed):
    imported = PARSER.replace("(ModelArguments,", "(ModelArguments, ScriptArguments,")
    installed.write("train.py", f"from trl import ScriptArguments\n{imported}")
    installed.launch = "torchrun --nproc_per_node=4 train.py --output_dir o --per_device_batch 4"
    assert told(installed) == []


def test_a_slip_on_the_command_line_that_no_class_of_the_script_explains(installed):
    installed.write("train.py", PARSER)
    given = "--output_dir o --per_device_batch 4 --learning_rat 1e-4 --tokenizer_path p --logging_name a"
    installed.launch = f"torchrun --nproc_per_node=4 train.py {given}"
    ((title, fix),) = told(installed)
    assert title.endswith(" has no argument --per_device_batch")  # argparse takes learning_rat for learning_rate
    assert fix == "write one of --per_device_eval_batch_size, --per_device_train_batch_size"


OLDER = """\
from dataclasses import dataclass
from .base import Base

@dataclass
class TrainingArguments(Base):
    evaluation_strategy: str = "no"
"""


def packages(folder: Path, **sources: str) -> Installed:
    """A package transformers of these modules; nothing else is installed."""
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text)
    return Installed(lambda name: [folder] if name == "transformers" else None)


def test_an_older_release_is_given_its_own_name(tmp_path: Path, installed):
    base = "from dataclasses import dataclass\n@dataclass\nclass Base:\n    output_dir: str\n"
    installed.installed = packages(tmp_path, __init__="from .arguments import *\n", arguments=OLDER, base=base)
    installed.write("train.py", HEAD + 'TrainingArguments(output_dir="o", eval_strategy="steps")\n')
    assert [fix for _, fix in told(installed)] == ["write evaluation_strategy"]


@pytest.mark.parametrize(
    "source",
    [
        "class TrainingArguments(:\n",
        "class TrainingArguments:\n    def __init__(self, **more): ...\n",
        "class TrainingArguments(Unknown):\n    def __new__(cls, *given): ...\n",
        "class TrainingArguments(metaclass=Kind):\n    def __init__(self, output_dir): ...\n",
        "@registered\nclass TrainingArguments:\n    def __init__(self, output_dir): ...\n",
        "@old('evaluation_strategy')\ndef TrainingArguments(output_dir): ...\n",
        "if new:\n    def TrainingArguments(output_dir): ...\nelse:\n    def TrainingArguments(strategy): ...\n",
        "from other import TrainingArguments\n",
        "from . import TrainingArguments\n",
    ],
)
def test_what_may_take_any_keyword_is_no_reason_to_speak(tmp_path: Path, installed, source):
    installed.installed = packages(tmp_path, __init__=source)
    installed.write("train.py", HEAD + 'TrainingArguments("o", evaluation_strategy="steps")\n')
    assert told(installed) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("from accelerate import Accelerator\nAccelerator(fp16=True)", 'pass mixed_precision="fp16" instead'),
        ("import lightning as L\nL.Trainer(gpus=2)", 'pass accelerator="gpu", devices=2 instead'),
        ("import lightning.pytorch as pl\npl.Trainer(gpus=[0, 3])", 'pass accelerator="gpu", devices=[0, 3] instead'),
        ("import lightning.pytorch as pl\npl.Trainer(distributed_backend=kind)", "pass strategy=... instead"),
        ("import lightning as L\nL.Trainer(replace_sampler_ddp=False)", "pass use_distributed_sampler=False instead"),
        ("from accelerate import Accelerator\nAccelerator(even_batches=True, split_batches=True)",
         "pass dataloader_config=DataLoaderConfiguration(even_batches=True) instead"),
        ("from accelerate import Accelerator\nAccelerator(logging_dir='a')", "pass project_dir='a' instead"),
        ("from peft import LoraConfig\nLoraConfig(target_module=['q'])", "write target_modules"),
        ("import torch\ntorch.optim.AdamW([], correct_bias=False)", "remove it"),
        ("from torch.utils.data import DataLoader as Loader\nLoader(data, batchsize=4)", "write batch_size"),
        ("from transformers import AutoModelForCausalLM as Auto\nAuto.from_pretrained(m, load_in_8bit=True)",
         "pass quantization_config=BitsAndBytesConfig(load_in_8bit=True) instead"),
        ("import transformers\ntransformers.AutoModel.from_pretrained(m, use_flash_attention_2=True)",
         'pass attn_implementation="flash_attention_2" instead'),
    ],
)  # fmt: skip
def test_every_library_is_read(installed, script, said):
    installed.write("train.py", script + "\n")
    assert [fix for _, fix in told(installed)] == [said]


@pytest.mark.parametrize(
    "script",
    [
        "from accelerate import Accelerator\nAccelerator(mixed_precision='fp16', kwargs_handlers=[])",
        "from accelerate import Accelerator\ndef run(Accelerator):\n    Accelerator(fp16=True)",
        "from peft import LoraConfig\nLoraConfig(r=8, task_type='CAUSAL_LM', base_model_name_or_path='x')",
        "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained(m, use_auth_token=True)",
        "from transformers import AutoModel\nAutoModel.from_pretrained(m, torch_dtype='auto', low_cpu_mem_usage=True)",
        "try:\n    from trl import AdamW\nexcept ImportError:\n    from torch.optim import AdamW\nAdamW(x=0)",
    ],
)
def test_what_is_taken_or_is_something_else(installed, script):
    installed.write("train.py", script + "\n")
    assert told(installed) == []


@pytest.mark.parametrize(
    "call",
    ["L.Trainer(amp_backend='native')", "L.Trainer(num_processes=2)", "L.Trainer(resume_from_checkpoint='a.ckpt')",
     "peft.LoraConfig(merge_weights=False)", "L.Trainer(auto_lr_find=True)"],
)  # fmt: skip
def test_a_name_that_only_looks_alike_is_not_written(installed, call):
    installed.write("train.py", f"import lightning as L\nimport peft\n{call}\n")
    (found,) = (each for each in installed.findings() if each.code == "DV421")
    assert found.fixes[0].text.startswith("look up in the documents of ") and not found.fixes[0].edits


@pytest.mark.parametrize(
    ("keyword", "fix"),
    [("tokenizer=tokenizer", "write processing_class"), ("max_seq_length=512", "pass max_length=512 instead"),
     ("save_safetensors=True", "remove it")],
)  # fmt: skip
def test_trl_was_given_what_the_trainer_took(tmp_path: Path, installed, keyword, fix):
    source = "class SFTTrainer:\n    def __init__(self, processing_class, max_length): ...\n"
    (tmp_path / "__init__.py").write_text(source)
    installed.installed = Installed(lambda name: [tmp_path] if name == "trl" else None)
    installed.write("train.py", f"from trl import SFTTrainer\nSFTTrainer({keyword})\n")
    assert [advice for _, advice in told(installed)] == [fix]


@pytest.mark.parametrize(
    ("body", "refuses"),
    [("super().__init__(**more)", True), ("super(Own, self).__init__(1, **more)", True),
     ("more.pop('old', 0)\n        super().__init__(**more)", False), ("other(**more)", False)],
)  # fmt: skip
def test_keywords_that_are_handed_up(tmp_path: Path, installed, body, refuses):
    source = ("class Base:\n    def __init__(self, rate): ...\n"
              f"class Own(Base):\n    def __init__(self, size, **more):\n        {body}\n")  # fmt: skip
    installed.installed = packages(tmp_path, __init__=source)
    installed.write("train.py", "from transformers import Own\nOwn(size=1, rate=2)\nOwn(size=1, old=3)\n")
    assert [title.rpartition(" ")[2] for title, _ in told(installed)] == ["old"] * refuses
