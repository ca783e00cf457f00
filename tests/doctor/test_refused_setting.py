"""Values that DeepSpeed refuses, of a job that reads its file without the Trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({"train_micro_batch_size_per_gpu": "4"}, 'train_micro_batch_size_per_gpu is "4", expected an integer'),
        ({"gradient_accumulation_steps": "8"}, 'gradient_accumulation_steps is "8", expected an integer'),
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
