"""A training step of a model that no laptop holds: at full size on emulated GPUs, beside torch's FakeTensorMode.

``full_size.py WAY MODEL GPUS`` is one run, in a process of its own: it prints the seconds to make and place the model,
those of a step (forward, backward, AdamW), and the bytes of host memory at the peak.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from table import Row, in_gib

ROUNDS = 5
TOKENS = 2048

# hidden size, intermediate size, layers, heads, heads of keys and values, words: the published configurations of
# Llama-2-7b, Llama-2-70b and Llama-3.1-405B.
SHAPES = {
    "7B": (4096, 11008, 32, 32, 32, 32000),
    "70B": (8192, 28672, 80, 64, 8, 32000),
    "405B": (16384, 53248, 126, 128, 8, 128256),
}


@dataclass(frozen=True)
class Case:
    """A model over so many GPUs, how often it is measured, and the most that it may take.

    Attributes:
        ratio: of the time of a step to FakeTensorMode's.
        seconds: of a step.
        memory: bytes of host memory at the peak, those of torch and transformers among them.
    """

    model: str
    gpus: int
    rounds: int
    ratio: float | None
    seconds: float
    memory: float | None


CASES = (
    Case("7B", 8, ROUNDS, 0.7, 1.0, 1.0 * 2**30),
    Case("70B", 8, 1, None, 4.0, 1.5 * 2**30),
    Case("405B", 64, 1, None, 20.0, None),
)


@dataclass(frozen=True)
class Measured:
    """One run: seconds, seconds and bytes."""

    placing: float
    step: float
    memory: int


def measure() -> list[Row]:
    rows = []
    for case in CASES:
        pairs = [(_run("devsan", case.model, case.gpus), _run("fake", case.model, 1)) for _ in range(case.rounds)]
        name = f"Llama {case.model}, training step at full size, {case.gpus} GPUs"
        step = statistics.median(own.step for own, _ in pairs)
        fake = statistics.median(other.step for _, other in pairs)
        ratio = statistics.median(own.step / other.step for own, other in pairs)
        memory = max(own.memory for own, _ in pairs)
        rows += [
            Row(name, step, difference=step, goal=case.seconds),
            Row(f"{name}, compared", step, "FakeTensorMode, one device", fake, ratio=ratio, goal=case.ratio),
            Row(f"{name}, host memory", memory, difference=memory, goal=case.memory, units=in_gib),
        ]
    return rows


def _run(way: str, model: str, gpus: int) -> Measured:
    kept = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    words = [sys.executable, str(Path(__file__)), way, model, str(gpus)]
    done = subprocess.run(words, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _mode(way: str, gpus: int) -> AbstractContextManager[Any]:
    if way == "devsan":
        import devsan

        return devsan.emulate(gpus=gpus, memory="2048GiB", full_size=True)
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


def _one(way: str, name: str, gpus: int) -> Measured:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    hidden, inner, layers, heads, groups, words = SHAPES[name]
    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=groups, vocab_size=words, use_cache=False,
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    with _mode(way, gpus):
        begin = time.perf_counter()
        model = LlamaForCausalLM(config)
        if gpus > 1:
            from accelerate import dispatch_model

            blocks = {f"model.layers.{number}": number * gpus // layers for number in range(layers)}
            first = dict.fromkeys(("model.embed_tokens", "model.rotary_emb"), 0)
            dispatch_model(model, {**first, **blocks, "model.norm": gpus - 1, "lm_head": gpus - 1})
        optimizer = torch.optim.AdamW(model.parameters())
        tokens = torch.ones(1, TOKENS, dtype=torch.long, device="cuda" if way == "devsan" else "cpu")
        placed = time.perf_counter()
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
        end = time.perf_counter()
    return Measured(placed - begin, end - placed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


if __name__ == "__main__":
    print(json.dumps(vars(_one(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
