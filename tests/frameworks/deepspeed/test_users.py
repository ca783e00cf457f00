"""Libraries that drive DeepSpeed: the Trainer with a ds_config, accelerate's plugin, Lightning's strategy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# FusedAdam rounds where torch's AdamW does not; DDP, Lightning's side on the CPU, adds up gradients in other buckets.
ABOUT = {f"deepspeed_users_cases:{name}": 1e-6 for name in ("lightning_zero2", "lightning_zero3_offload")}
# The Trainer's model has attention whose keys have fewer heads: a composite on CUDA, and one kernel on the CPU.
ABOUT |= {f"deepspeed_users_cases:{name}": 5e-6 for name in ("trainer_zero2", "trainer_zero3_offload")}


@pytest.mark.long
def test_they_train_as_on_the_cpu(equal: Callable[..., None]) -> None:
    for library in ("transformers", "accelerate", "lightning"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    names = "trainer_zero2 trainer_zero3_offload accelerate_zero3 lightning_zero2 lightning_zero3_offload"
    equal([f"deepspeed_users_cases:{name}" for name in names.split()], ABOUT, gpus=2)
