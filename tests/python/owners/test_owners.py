"""Who placed a tensor, told from the frames of a stack alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import pytest

from devsan import owners
from devsan.owners import found_rules, owner_of, program


@dataclass
class Frame:
    package: str
    file: str
    function: str
    source: str = ""


PROGRAM = Frame("", "train.py", "main")
CALL = Frame("torch", "torch/nn/modules/module.py", "Module._call_impl")


@pytest.mark.parametrize(
    ("stack", "name", "mechanism", "setting"),
    [
        ([PROGRAM], "program", "", ""),
        (
            [
                Frame("accelerate", "accelerate/utils/operations.py", "send_to_device"),
                Frame("accelerate", "accelerate/hooks.py", "AlignDevicesHook.pre_forward"),
                Frame("accelerate", "accelerate/hooks.py", "add_hook_to_module.<locals>.new_forward"),
                CALL, PROGRAM,
            ],
            "accelerate", "AlignDevicesHook", "device_map",
        ),
        (
            [Frame("torch", "torch/nn/modules/module.py", "Module.to.<locals>.convert"),
             Frame("torch", "torch/nn/modules/module.py", "Module._apply"),
             Frame("torch", "torch/nn/modules/module.py", "Module.to"), PROGRAM],
            "program", "Module.to", "",
        ),
        (
            [Frame("torch", "torch/nn/modules/module.py", "Module.to"),
             Frame("lightning", "lightning/pytorch/strategies/ddp.py", "DDPStrategy.model_to_device"), PROGRAM],
            "lightning", "strategy", "root_device",
        ),
        (
            [Frame("torch", "torch/nn/modules/module.py", "Module.to"),
             Frame("deepspeed", "deepspeed/runtime/engine.py", "DeepSpeedEngine._configure_model"), PROGRAM],
            "deepspeed", "DeepSpeedEngine", "LOCAL_RANK",
        ),
        (
            [Frame("transformers", "transformers/core_model_loading.py", "_materialize_copy"),
             Frame("python", "concurrent/futures/thread.py", "run")],
            "transformers", "from_pretrained", "device_map",
        ),
        (
            [Frame("torch", "torch/nn/parallel/replicate.py", "replicate"),
             Frame("torch", "torch/nn/parallel/data_parallel.py", "DataParallel.forward"), CALL, PROGRAM],
            "torch.nn.DataParallel", "replicate", "device_ids",
        ),
        (
            [Frame("torch", "torch/utils/data/_utils/collate.py", "collate"),
             Frame("torch", "torch/utils/data/dataloader.py", "__next__"), PROGRAM],
            "DataLoader", "DataLoader", "",
        ),
        (
            [Frame("torch", "torch/serialization.py", "_cuda_deserialize"),
             Frame("torch", "torch/serialization.py", "load"), PROGRAM],
            "torch.load", "torch.load", "no map_location",
        ),
        (
            [Frame("torch", "torch/nn/modules/linear.py", "Linear.__init__"),
             Frame("peft", "peft/tuners/lora/layer.py", "LoraLayer.update_layer"), PROGRAM],
            "peft", "adapter", "",
        ),
        ([Frame("sklearn_like", "sklearn_like/a.py", "f"), PROGRAM], "sklearn_like", "", ""),
    ],
)  # fmt: skip
def test_the_innermost_who_placed_is_the_owner(stack: list[Frame], name: str, mechanism: str, setting: str) -> None:
    found = owner_of(stack)
    assert (found.name, found.mechanism, found.setting) == (name, mechanism, setting)


def test_a_program_that_a_framework_runs_is_the_program() -> None:
    hook = Frame("accelerate", "accelerate/hooks.py", "add_hook_to_module.<locals>.new_forward")
    assert owner_of([Frame("", "model.py", "Block.forward"), hook, CALL, PROGRAM]).name == "program"


def test_every_file_of_a_framework_is_found() -> None:
    files = {path.stem for path in Path(owners.__file__).parent.glob("*.py")}
    assert set(found_rules()) == files - {"__init__", "program", "settings", "stack"}
    assert all(found_rules().values())


def test_no_two_files_are_about_the_same_file_of_a_framework() -> None:
    """So that the order in which they are found decides nothing."""
    tables = {**found_rules(), "program": program.MEANS}
    shared = [
        (one, other, rule, same)
        for one, other in itertools.combinations(tables, 2)
        for rule, same in itertools.product(tables[one], tables[other])
        if rule.package == same.package and (rule.file in same.file or same.file in rule.file)
    ]
    assert shared == []
