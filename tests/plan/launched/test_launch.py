"""Which launches can be planned, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.errors import UsageError
from devsan.plan.launched.launch import Launch, read

TRAINER = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('out', fsdp=''))\n"
ACCELERATOR = "import accelerate\nmodel = accelerate.Accelerator().prepare(model)\n"
DEEPSPEED = "import deepspeed\ndeepspeed.initialize(config={})\n"


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., Launch]:
    def reading(text: str, command: str) -> Launch:
        (tmp_path / "train.py").write_text(text)
        return read(command.split(), str(tmp_path), {}, 4)

    return reading


@pytest.mark.parametrize("launcher", ["torchrun --nproc-per-node 2", "accelerate launch --num_processes 2"])
@pytest.mark.parametrize("text", [TRAINER, ACCELERATOR], ids=["Trainer", "Accelerator"])
def test_programs_that_accelerate_tells(reading: Callable[..., Launch], launcher: str, text: str) -> None:
    launch = reading(text, f"{launcher} train.py --max_steps 2")
    assert (launch.facts.ranks, launch.facts.words, launch.document) == (2, ("--max_steps", "2"), "")


@pytest.mark.parametrize("option", ["--deepspeed ds.json", "--deepspeed_config=ds.json"])
@pytest.mark.parametrize("text", [TRAINER, DEEPSPEED], ids=["Trainer", "deepspeed"])
def test_programs_with_the_document_of_deepspeed(
    reading: Callable[..., Launch], option: str, text: str, tmp_path: Path
) -> None:
    launch = reading(text, f"deepspeed --num_gpus 2 train.py {option}")
    assert launch.document == str(tmp_path / "ds.json")


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        (TRAINER, "mpirun -n 4 train.py", "expected torchrun, accelerate launch or deepspeed"),
        (TRAINER, "torchrun --nnodes 2 --nproc-per-node 2 train.py", "expected a launch on one machine, got one on 2"),
        (TRAINER, "torchrun --nproc-per-node 2 -m package.train", "expected a launch of a script"),
        (TRAINER, "torchrun --nproc-per-node 2 other.py", "expected a script that can be read"),
        ("import lightning\n", "torchrun --nproc-per-node 2 train.py", "got one of Lightning"),
        ("from torch.distributed.fsdp import fully_shard\n", "torchrun train.py", "fully_shard, which the program"),
        ("FullyShardedDataParallel(model)\n", "torchrun train.py", "got FSDP1, which the program itself applies"),
        ("parallelize_module(model)\n", "torchrun train.py", "got tensor parallelism"),
        (DEEPSPEED, "deepspeed train.py", "got deepspeed.initialize without one"),
        (TRAINER.replace("fsdp=''", "fsdp='full_shard'"), "torchrun train.py", "got fsdp= in train.py"),
        ("print()\n", "torchrun train.py", "got another: 'train.py'"),
    ],
)  # fmt: skip
def test_others_are_refused_in_one_sentence(reading: Callable[..., Launch], text: str, command: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        reading(text, command)
    assert said in str(refused.value)
