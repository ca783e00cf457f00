"""What torch.distributed offers to a training job: DDP, both kinds of FSDP, tensor and pipeline parallel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REDUCER_ALONE = Path(__file__).parent / "jobs" / "reducer_alone.py"

Equal = Callable[..., None]


def of(module: str, names: str) -> list[str]:
    return [f"{module}:{name}" for name in names.split()]


DDP = of(
    "ddp_cases",
    """plain buckets unused_parameters bucket_views static_graph fp16_compression bf16_compression power_sgd
    power_sgd_in_fp16 power_sgd_of_buckets python_hook no_sync join buffers clipping mixed_precision
    native_mixed_precision zero_redundancy zero_redundancy_buckets uneven_with_zero_redundancy averaged_after_steps
    two_devices_a_rank synchronized_batch_norm""",
)
FSDP = of(
    "fsdp_cases",
    """full_shard original_parameters shard_gradients no_shard mixed_precision parameters_on_the_host clipping
    accumulated saved_and_loaded sharded_checkpoint parameters_in_view two two_kept_gathered two_in_mixed_precision
    two_on_the_host two_clipped two_accumulated two_from_meta two_checkpoint""",
)
DIVIDED = of(
    "parallel_cases",
    """tensor_parallel sequence_parallel loss_over_classes redistributed context_parallel gpipe one_forward_one_backward
    interleaved zero_bubble traced""",
)
# One sum over the batches of all ranks, instead of one for each and then over the ranks; and attention in chunks.
ABOUT = {"ddp_cases:synchronized_batch_norm": 1e-6, "parallel_cases:context_parallel": 1e-6}


@pytest.mark.long
def test_ddp(equal: Equal) -> None:
    equal(DDP, ABOUT)


@pytest.mark.frameworks
def test_torch_loses_the_first_gradients_of_ddps_own_mixed_precision() -> None:
    """On the CPU, without DevSan. When this fails torch has mended it, and native_mixed_precision is too careful."""
    ended = subprocess.run([sys.executable, str(REDUCER_ALONE)], capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["step 0: something else", "step 1: the gradients", "step 2: the gradients"]


@pytest.mark.long
def test_fsdp(equal: Equal) -> None:
    equal(FSDP)


@pytest.mark.long
def test_divided_models(equal: Equal) -> None:
    equal(DIVIDED, ABOUT)


@pytest.mark.long
def test_ddp_refuses_in_its_words(job: Callable[..., Any]) -> None:
    for number, records in enumerate(job(["ddp_cases:refusals"])):
        said = records["ddp_cases:refusals"]
        assert said["several ids"] == ("ValueError: device_ids can only be None or contain a single element."), said
        assert "DistributedDataParallel device_ids and output_device arguments only work with" in said["split"]
        assert f"{{device(type='cuda', index={number})" in said["split"] or "cuda" in said["split"]
        assert said["nothing to train"].endswith("any parameter that requires a gradient.")
        assert said["on the CPU"] == "RuntimeError: No backend type associated with device type cpu"
        assert "Expected to have finished reduction in the prior iteration" in said["not all were used"]


@pytest.mark.frameworks
def test_in_four_ranks(equal: Equal) -> None:
    # Four ranks add up in gloo's order on both.
    two_dimensions = of("fsdp_cases", "two_replicated hybrid_shard")
    with_stages = of("parallel_cases", "with_fsdp with_sharded_stages")
    some = of("ddp_cases", "plain buckets no_sync") + of("parallel_cases", "tensor_parallel gpipe interleaved")
    equal([*two_dimensions, *with_stages, *some], ranks=4)
