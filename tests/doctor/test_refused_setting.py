"""Values that DeepSpeed refuses, of a job that reads its file without the Trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from devsan.doctor.installed import Installed


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({"train_micro_batch_size_per_gpu": "4"}, 'train_micro_batch_size_per_gpu is "4", expected an integer'),
        ({"gradient_accumulation_steps": "8"}, 'gradient_accumulation_steps is "8", expected an integer'),
        ({"optimizer.params.lr": "5e-5"}, 'optimizer.params.lr is "5e-5", expected a number'),
        ({"optimizer.params.lr": "auto"}, 'optimizer.params.lr is "auto", but nothing replaces it'),
        ({"train_batch_size": "auto"}, 'train_batch_size is "auto", but nothing replaces it'),
    ],
)
def test_what_deepspeed_alone_reads_as_it_is(empty, changed: Callable[..., dict[str, Any]], settings, title, plain):
    """A script that calls deepspeed.initialize itself; that its model is one of transformers changes nothing."""
    empty.launch = "deepspeed --num_gpus 4 train.py --deepspeed_config ds_config.json"
    empty.write("ds_config.json", changed(settings, plain))
    empty.write("train.py", "import deepspeed\nfrom transformers import LlamaForCausalLM\n"
                            "engine = deepspeed.initialize(args=args, model=model)\n")  # fmt: skip
    assert [finding.title for finding in empty.findings()] == [title]


@pytest.fixture
def installed(empty, plain):
    """A job that reads its file without the Trainer, where DeepSpeed is installed."""
    empty.installed = Installed()
    empty.launch = "deepspeed --num_gpus 4 train.py --deepspeed_config ds_config.json"
    return empty.write("train.py", "import deepspeed\nengine = deepspeed.initialize(args=args, model=model)\n")


def section(kind: str, **params: Any) -> dict[str, Any]:
    return {"type": kind, "params": params}


@pytest.mark.parametrize(
    ("settings", "title", "fix"),
    [
        ({"scheduler": section("WarmupDecayLR", total_num_steps=100, warmup_steps=10)},
         "WarmupDecayLR has no parameter scheduler.params.warmup_steps", "write warmup_num_steps"),
        ({"scheduler": section("WarmupCosineLR", total_num_steps=100, warmup_max_lr=0.1)},
         "WarmupCosineLR has no parameter scheduler.params.warmup_max_lr", None),
        ({"scheduler": section("OneCycle", cycle_min_lr=0.1, cycle_max_lr=0.1, cycle_first_step=9)},
         "OneCycle has no parameter scheduler.params.cycle_first_step", "write cycle_first_step_size"),
        ({"scheduler": section("StepLR", step_sizes=3)}, "StepLR has no parameter scheduler.params.step_sizes",
         "write step_size"),
        ({"optimizer": section("AdamW", lr=0.1, weigth_decay=0.1)},
         "AdamW has no parameter optimizer.params.weigth_decay", "write weight_decay"),
        ({"optimizer": section("Lamb", lr=0.1, coeff=0.1)}, "Lamb has no parameter optimizer.params.coeff", None),
        ({"optimizer": section("SGD", lr=0.1, momentom=0.9)}, "SGD has no parameter optimizer.params.momentom",
         "write momentum"),
    ],
)  # fmt: skip
def test_a_parameter_that_the_class_does_not_take(installed, changed, plain, settings, title, fix):
    installed.write("ds_config.json", changed({**settings, "zero_optimization": ...}, plain))
    (found,) = installed.findings()
    assert found.title == title
    assert fix is None or found.fixes[0].text == fix


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": section("Adam", lr=0.1, betas=[0.9, 0.999], eps=1e-8, torch_adam=True, adam_w_mode=False,
                              fused=True, fp32_optimizer_states=True, bias_correction=True)},
        {"optimizer": section("Lion", lr=0.1, weight_decay=0.1)}, {"optimizer": section("Adagrad", lr=0.1, eps=1e-8)},
        {"optimizer": section("Muon", lr=0.1, muon_lr=0.1, other=1)},
        {"scheduler": section("LRRangeTest", lr_range_test_min_lr=0.1, lr_range_test_staircase=True)},
        {"scheduler": section("WarmupLR", warmup_num_steps=10, last_batch_iteration=-1, warmup_type="linear")},
    ],
)  # fmt: skip
def test_parameters_that_the_class_takes(installed, changed, plain, settings):
    installed.write("ds_config.json", changed({**settings, "zero_optimization": ...}, plain))
    assert [finding.title for finding in installed.findings() if "parameter" in finding.title] == []


def test_a_section_that_the_script_replaces_is_not_read(installed, changed, plain):
    installed.write("ds_config.json", changed({"optimizer": section("AdamW", lr=0.1, weigth_decay=0.1)}, plain))
    for given in ("args=args, model=model, optimizer=adam", "args, model, adam", "model=model, **given"):
        installed.write("train.py", f"import deepspeed\nengine = deepspeed.initialize({given})\n")
        assert [finding.title for finding in installed.findings()] == []
