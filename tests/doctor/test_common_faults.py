"""The twelve most common faults of environment and configuration, each seeded into a set-up that works.

The ranking is a count: of the 169 public cases that the project was started with, those whose cause is a release, a
launch, a setting or a placement that the program was told (and not a library's own code), by that cause. Each fault
names its cases; tests/doctor/test_seeded.py has their neighbors. A fault is found with its right code and fix,
where it stands; the fix makes the set-up clean again, and so was the set-up before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor import source
from tests.doctor.conftest import DEEPSPEED, TRAINER, SetUp

Change = Callable[[SetUp], Any]

RANKS = """\
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    model = nn.Linear(8, 8).to(local_rank)
    state = torch.load("last.pt", map_location=f"cuda:{local_rank}")
    model.load_state_dict(state["model"])
    model = DistributedDataParallel(model, device_ids=[local_rank])
    model(torch.randn(2, 8).to(local_rank)).sum().backward()


main()
"""
CHAT = """\
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

LAYERS = {f"model.layers.{i}": i // 2 for i in range(4)}
ENDS = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.norm": 1, "lm_head": 1}


def load(path):
    return AutoModelForCausalLM.from_pretrained(path, device_map={**ENDS, **LAYERS})


model = load("llama").eval()
tokenizer = AutoTokenizer.from_pretrained("llama")
inputs = tokenizer("hello", return_tensors="pt").to("cuda:0")
print(model.generate(**inputs, max_new_tokens=4))
"""
PLAIN = """\
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

os.environ["CUDA_VISIBLE_DEVICES"] = "1"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator().manual_seed(0)
data = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
model = nn.Linear(4, 2).to(device)
for x, y in DataLoader(data, batch_size=4, shuffle=True, generator=generator):
    nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
"""


def everything(setup: SetUp) -> list[Diagnostic]:
    """What the doctor says of machine, configuration and source together."""
    case = setup.case()
    scripts = [Path(file) for file in setup.files if file.endswith(".py")]
    checked = source.check(scripts, case.launch, edits=False)
    assert checked.notes == []
    return [*setup.findings(), *(each for each in checked.findings if each.severity != "note")]


def under_deepspeed(setup: SetUp) -> None:
    setup.write("ds_config.json", DEEPSPEED).write("train.py", TRAINER)


def in_ranks(setup: SetUp) -> None:
    setup.write("train.py", RANKS)


def over_a_map(setup: SetUp) -> None:
    setup.launch = "python chat.py"
    setup.write("chat.py", CHAT)


def alone(setup: SetUp) -> None:
    setup.launch = "python plain.py"
    setup.write("plain.py", PLAIN)


def text(name: str, old: str, new: str) -> Change:
    def change(setup: SetUp) -> None:
        before = (setup.folder / name).read_text()
        assert before.count(old) == 1
        setup.write(name, before.replace(old, new))

    return change


def release(torch: str, **packages: str) -> Change:
    def change(setup: SetUp) -> None:
        setup.packages.update(packages)
        if torch:
            setup.packages.update(torch=f"{torch}+cu121", torchvision="0.18.1+cu121", numpy="1.26.4")
            setup.torch = replace(setup.torch, version=f"{torch}+cu121", cuda="12.1")

    return change


def launch(command: str) -> Change:
    return lambda setup: setattr(setup, "launch", command)


@dataclass(frozen=True)
class Fault:
    """One of the twelve: what it is, the cases that have it, how it is seeded into what works, and fixed again."""

    name: str
    cases: tuple[str, ...]
    works: Change
    seed: Change
    code: str
    fix: str
    mend: Change


FAULTS = (
    Fault("the rotary embedding is where transformers 4.43 put it, and a list made by hand has no place for it",
          ("autoawq-558", "autogptq-729", "gptqmodel-2440", "internvl-420", "internvl-774", "transformers-34456",
           "transformers-35505"),
          over_a_map, text("chat.py", '"model.rotary_emb": 0, ', ""), "DV105", '"model.rotary_emb" to the device map',
          text("chat.py", '"model.embed_tokens": 0, ', '"model.embed_tokens": 0, "model.rotary_emb": 0, ')),
    Fault("a model is moved after a device map has placed it",
          ("accelerate-1613", "autoawq-668", "chatglm3-687", "transformers-pr23792", "visual-openllm-20", "yi-242"),
          over_a_map, text("chat.py", ".eval()", '.eval().to("cuda:0")'), "DV201", "remove the move",
          text("chat.py", '.eval().to("cuda:0")', ".eval()")),
    Fault("a release of DeepSpeed that fails when it clips offloaded gradients",
          ("axolotl-1698", "deepspeed-5538", "llamafactory-3583", "minicpmv-246", "xtuner-589"),
          under_deepspeed, release("2.3.1", deepspeed="0.14.2"), "DV404", 'pip install "deepspeed>=0.14.3"',
          release("", deepspeed="0.14.3")),
    Fault("a device map in every rank of a launch",
          ("accelerate-2378", "accelerate-2482", "lightning-20276", "qwen-745", "qwen-920"),
          under_deepspeed, text("train.py", '"gpt2"', '"gpt2", device_map="auto"'), "DV204",
          "without a device map if DeepSpeed or FSDP places it", text("train.py", ', device_map="auto"', "")),
    Fault("the default device of the whole process is changed",
          ("pyro-pr3264", "pytorch-118084", "pytorch-151202", "rtfm-47", "transformers-23900"),
          alone, text("plain.py", "generator = torch.Generator()",
                      'torch.set_default_device("cuda")\ngenerator = torch.Generator(device="cuda")'),
          "DV111", "create it on that device: `torch.Generator(device=\"cpu\")`",
          text("plain.py", 'torch.set_default_device("cuda")\ngenerator = torch.Generator(device="cuda")',
               "generator = torch.Generator()")),
    Fault("more ranks than GPUs that they see", ("minicpmv-356", "pick-14", "verl-161"),
          in_ranks, launch("env CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node=4 train.py"), "DV407",
          "start only 2: --nproc_per_node=2",
          launch("env CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node=2 train.py")),
    Fault("GPUs whose link damages what is copied over it", ("exllama-10", "transformers-36636", "unsloth-10613"),
          over_a_map, lambda setup: setattr(setup, "iommu", True), "DV601", "",
          lambda setup: setattr(setup, "iommu", False)),
    Fault("8-bit weights with ZeRO stage 3", ("accelerate-2378", "accelerate-2482"),
          under_deepspeed, text("train.py", '"gpt2"', '"gpt2", load_in_8bit=True'), "DV417", "ZeRO stage 2",
          text("train.py", ", load_in_8bit=True", "")),
    Fault("a checkpoint that goes back to the GPU it came from", ("pytorch-23138", "semstyle-3"),
          in_ranks, text("train.py", ', map_location=f"cuda:{local_rank}"', ""), "DV115", 'map_location="cpu"',
          text("train.py", '"last.pt"', '"last.pt", map_location="cpu"')),
    Fault("every rank works on the first GPU", ("nsa-triton-pr15", "vllm-5863"),
          in_ranks, text("train.py", 'torch.cuda.set_device(local_rank)\n    dist.init_process_group("nccl")\n'
                         "    model = nn.Linear(8, 8).to(local_rank)",
                         'dist.init_process_group("nccl")\n    model = nn.Linear(8, 8).to("cuda")'),
          "DV115", "torch.cuda.set_device",
          text("train.py", "    dist.init", "    torch.cuda.set_device(local_rank)\n    dist.init")),
    Fault("GPUs are chosen by a variable that nobody reads any more", ("llava-1516", "triton-2441"),
          alone, text("plain.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"\ndevice = torch.device("cuda" if '
                      'torch.cuda.is_available() else "cpu")',
                      'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
                      'os.environ["CUDA_VISIBLE_DEVICES"] = "1"'),
          "DV450", "set it earlier",
          text("plain.py", 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
               'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
               'os.environ["CUDA_VISIBLE_DEVICES"] = "1"\ndevice = torch.device("cuda" if torch.cuda.is_available() '
               'else "cpu")')),
    Fault("DataParallel beside another owner", ("ffb6d-4", "lightning-4877"),
          over_a_map, text("chat.py", 'load("llama").eval()', 'torch.nn.DataParallel(load("llama")).eval()'), "DV202",
          "keep one of the two", text("chat.py", 'torch.nn.DataParallel(load("llama"))', 'load("llama")')),
)  # fmt: skip


def seen(fault: Fault, setup: SetUp) -> list[Diagnostic]:
    return setup.notes() if fault.code == "DV601" else everything(setup)


def test_they_are_twelve_in_the_order_of_their_counts():
    assert len(FAULTS) == 12
    counts = [len(fault.cases) for fault in FAULTS]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 2


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_seeded_found_and_fixed(fault: Fault, empty: SetUp):
    setup = empty
    if fault.code == "DV601":
        pairs = ("        GPU0    GPU1", "GPU0     X      PHB", "GPU1    PHB      X")
        setup.driver = replace(setup.driver, topology=pairs)
    fault.works(setup)
    assert [(each.code, each.title) for each in seen(fault, setup)] == []
    fault.seed(setup)
    found = seen(fault, setup)
    assert [each.code for each in found] == [fault.code], found
    fixes = [fix.text for fix in found[0].fixes]
    assert any(fault.fix in each for each in fixes), fixes
    assert found[0].place is not None or found[0].subject
    fault.mend(setup)
    assert [(each.code, each.title) for each in seen(fault, setup)] == []
