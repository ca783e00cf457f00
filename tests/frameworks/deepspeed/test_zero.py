"""ZeRO on two emulated GPUs: losses and weights after five steps are those of the same job on the CPU.

To the last bit where both run the same operators: gloo adds up in one order, whatever holds the tensors. FusedAdam is
the exception: on the CPU torch's AdamW stands for it, since DeepSpeed would compile another; both round in float32.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Equal = Callable[..., None]

ABOUT = {"deepspeed_cases:fused_adam": 1e-6, "deepspeed_cases:states_offloaded_between_steps": 1e-6}


def of(names: str) -> list[str]:
    return [f"deepspeed_cases:{name}" for name in names.split()]


@pytest.mark.long
def test_stages_offload_and_checkpoints(equal: Equal) -> None:
    plain = "stage0 stage1 stage2 stage3 stage2_bf16 stage2_accumulates fused_adam"
    equal(of(f"{plain} stage2_offload stage3_offload_clipped stage3_resumed zero_init"), ABOUT, gpus=2)


@pytest.mark.frameworks
def test_the_rest_of_the_stages(equal: Equal) -> None:
    names = "stage1_offload stage3_offload stage1_accumulates stage3_accumulates stage0_bf16 stage1_bf16 stage3_bf16"
    more = "stage2_fp16 stage2_overlapped stage2_all_reduces stage1_resumed stage2_resumed stage3_secondary"
    last = "stage1_without_sync activations_checkpointed states_offloaded_between_steps pipeline"
    equal(of(f"{names} {more} {last}"), ABOUT, gpus=2)


@pytest.mark.frameworks
def test_cpu_adam_compiled_by_deepspeed(equal: Equal, launch: Callable[..., object]) -> None:
    """Compiles for two minutes of a core, once (see `toolchain`): too dear for every `make test`."""
    for lock in Path(os.environ["TORCH_EXTENSIONS_DIR"]).glob("*/lock"):
        lock.unlink()  # of a run that was killed while it compiled: torch waits for such a file for ever
    compile_it = "from deepspeed.ops.op_builder.cpu import CPUAdamBuilder; CPUAdamBuilder().load(); print('loaded')"
    ended = launch(sys.executable, "-c", compile_it, limit=900)
    assert "loaded" in ended.out, ended.err
    equal(of("cpu_adam cpu_adam_stage3"), gpus=2)
