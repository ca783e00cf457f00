"""The `deepspeed` launcher, unchanged, and what DevSan says of a script under it."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "jobs" / "deepspeed_script.py"
OFFLOAD = {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}


@pytest.fixture
def deepspeed(launch: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Returns a function that starts the script on two GPUs with a configuration of ZeRO and an optimizer."""

    def run(zero: dict[str, Any], *words: str, **optimizer: Any) -> Any:
        params = {"lr": 1e-2, **optimizer}
        config = {"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": params}, "zero_optimization": zero}
        file = tmp_path / "ds.json"
        file.write_text(json.dumps({**config, "zero_force_ds_cpu_optimizer": False}), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        command = ["deepspeed", "--num_gpus", "2", "--master_port", port, str(SCRIPT), "--deepspeed_config", str(file)]
        return launch(sys.executable, "-m", "devsan", "run", "--gpus", "2", "--", *command, *words)

    return run


@pytest.mark.long
def test_it_starts_a_rank_on_each_gpu(deepspeed: Callable[..., Any]) -> None:
    ended = deepspeed({"stage": 2})
    assert ended.code == 0, ended.err
    lines = sorted(line.partition(": loss")[0] for line in ended.out.splitlines() if ": loss" in line)
    assert lines == ["rank 0 on cuda:0", "rank 1 on cuda:1"]
    assert "error[" not in ended.err


@pytest.mark.long
def test_offloaded_weights_are_named_with_their_setting(deepspeed: Callable[..., Any]) -> None:
    ended = deepspeed(OFFLOAD, "--ema", torch_adam=True)
    assert ended.code == 1
    sentence = "Expected all tensors to be on the same device, but found at least two devices, cuda:{} and cpu!"
    assert all(f"RuntimeError: {sentence.format(rank)}" in ended.prose for rank in (0, 1))
    assert ended.err.count("error[") == 1  # for the job
    assert "error[DV114]: operands of aten::add_ are on cuda:0 and cpu" in ended.err
    line = next(number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "average.mul_" in text)
    assert f"deepspeed_script.py:{line}:9 ranks 0 and 1" in ended.prose
    assert "weight.ds_tensor float32[64] placed on cpu by deepspeed: ZeRO-3" in ended.prose
    assert "-> offload_param.device = cpu" in ended.prose
    assert "average float32[64] placed on cuda:0 by this program" in ended.prose
    assert "deepspeed keeps `weight.ds_tensor` on cpu, by offload_param.device = cpu" in ended.prose
