"""The Trainer of transformers, accelerate, PEFT and Lightning, each in two ranks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Equal = Callable[..., None]

# The norm that gradients are clipped by is added up shard by shard.
CLIPPED_IN_SHARDS = {
    f"{name}": 1e-6
    for name in (
        "trainer_cases:fsdp",
        "trainer_cases:fsdp2",
        "trainer_cases:fsdp_on_the_host",
        "peft_cases:in_fsdp_trainer",
        "accelerate_cases:fsdp",
        "accelerate_cases:fsdp2",
    )
}

# Attention whose keys have fewer heads than its queries is a composite on CUDA, and one kernel on the CPU.
OTHER_ATTENTION = dict.fromkeys(
    ("trainer_cases:ddp", "trainer_cases:accumulated", "trainer_cases:resumed", "peft_cases:in_trainer",
     "peft_cases:lora"),
    2e-6,
)  # fmt: skip


def of(module: str, names: str) -> list[str]:
    return [f"{module}:{name}" for name in names.split()]


@pytest.mark.long
def test_trainer_and_peft(equal: Equal) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    names = of("trainer_cases", "ddp fsdp2") + of("peft_cases", "lora")
    equal(names, CLIPPED_IN_SHARDS | OTHER_ATTENTION, gpus=2)


@pytest.mark.long
def test_accelerate(equal: Equal) -> None:
    pytest.importorskip("accelerate")
    equal(of("accelerate_cases", "ddp collectives fsdp2"), CLIPPED_IN_SHARDS, gpus=2)


@pytest.mark.long
def test_lightning(equal: Equal) -> None:
    pytest.importorskip("lightning")
    equal(of("lightning_cases", "ddp fsdp model_parallel saved_and_tested"), gpus=2)


@pytest.mark.frameworks
def test_the_rest(equal: Equal) -> None:
    more = of("trainer_cases", "accumulated resumed fsdp fsdp_on_the_host")
    more += of("peft_cases", "in_trainer in_fsdp_trainer")
    equal(more, CLIPPED_IN_SHARDS | OTHER_ATTENTION, gpus=2)


@pytest.mark.frameworks
def test_the_rest_of_accelerate(equal: Equal) -> None:
    equal(of("accelerate_cases", "mixed_precision accumulated saved_and_loaded fsdp"), CLIPPED_IN_SHARDS, gpus=2)


@pytest.mark.frameworks
def test_the_rest_of_lightning(equal: Equal) -> None:
    equal(of("lightning_cases", "ddp_in_bf16 ddp_with_unused_parameters fsdp_on_the_host fabric"), gpus=2)


@pytest.mark.frameworks
def test_in_four_ranks(equal: Equal) -> None:
    equal(of("trainer_cases", "ddp") + of("accelerate_cases", "ddp collectives"), OTHER_ATTENTION, ranks=4)
