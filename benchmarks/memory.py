"""How much memory usual training set-ups take, beside figures of real GPUs: the table of docs/reference/memory.md.

`python benchmarks/memory.py [NAME ...]` measures on the GPUs of the machine with torch alone, or, where there are none,
predicts on emulated ones of the model that the figure was measured on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import memory_finetuning as finetuning
import memory_setups as setups
import torch
from torch.nn.attention import SDPBackend

MIB = 1024**2
BOOK = "github.com/ailzhang/EfficientPyTorch, chapter_07_memory"
COURSE = "github.com/vinitvyas09/optimizers, hw2_activation_checkpointing.ipynb"
ATTENTION = "github.com/MarkMrLi/assignment2-systems, results/profile_attention/pytorch.md"
TUNING = "github.com/rasbt/pytorch-memory-optim, logs.md"
RECIPE = "PyTorch recipe on ZeroRedundancyOptimizer"


@dataclass(frozen=True)
class Setup:
    """One set-up: how it runs, the model of GPU, and the figures that were measured on a real one, in bytes."""

    run: Callable[[], setups.Figures]
    gpu: str
    gpus: int = 1
    measured: dict[str, float] = field(default_factory=dict)
    source: str = ""


SETUPS = {
    "first product": Setup(setups.first_product, "a10g-24g", 1, {"kept": 8519680}, "pytorch/pytorch#95668"),
    "SGD, one batch": Setup(
        partial(setups.one_weight, 256, 1), "a100-40g", 1, {"allocated": 81.37548828125 * MIB}, BOOK
    ),
    "SGD, batch in parts": Setup(
        partial(setups.one_weight, 128, 2), "a100-40g", 1, {"allocated": 49.00048828125 * MIB}, BOOK
    ),
    "wide layers, checkpoints": Setup(
        setups.wide_layers, "a100-40g", 1,
        {"checkpointed": 628.63671875 * MIB, "then without": 936.17431640625 * MIB}, BOOK,
    ),
    "attention by hand, fp32": Setup(
        setups.scores_in_memory, "rtx5090-32g", 1, {"forward": 204.094 * MIB, "kept": 64.0938 * MIB}, ATTENTION
    ),
    "transformer bf16, checkpoints": Setup(
        setups.blocks_with_checkpoints, "a100-40g", 1,
        {"neither": 3140e6, "both": 1414e6, "wide layers": 3093e6, "attention": 1787e6}, COURSE,
    ),
    "ViT fp16, halved before": Setup(partial(finetuning.placed, False), "a100-40g", 1, {"reserved": 0.65e9}, TUNING),
    "ViT fp16, halved on the GPU": Setup(partial(finetuning.placed, True), "a100-40g", 1, {"reserved": 1.24e9}, TUNING),
    "ViT bf16, batches of 16": Setup(
        partial(finetuning.images_in_bfloat16, 16, 1), "a100-40g", 1, {"reserved": 5.69e9}, TUNING
    ),
    "ViT bf16, batches of 16 in parts of 4": Setup(
        partial(finetuning.images_in_bfloat16, 4, 4), "a100-40g", 1, {"reserved": 3.91e9}, TUNING
    ),
    "DistilBERT bf16, FSDP, offloaded": Setup(finetuning.sharded_text, "a100-40g", 4, {"reserved": 1.15e9}, TUNING),
    "DDP, Adam": Setup(
        setups.replicas, "a100-40g", 2,
        {"model": 335e6, "replica": 656e6, "before the step": 992e6, "after the step": 1697e6}, RECIPE,
    ),
    "ZeRO, Adam": Setup(
        setups.zero, "a100-40g", 2,
        {"model": 335e6, "replica": 656e6, "before the step": 992e6, "after the step": 1361e6}, RECIPE,
    ),
    "CNN fp32": Setup(partial(setups.convolutions, False), "a100-40g"),
    "CNN bf16 autocast": Setup(partial(setups.convolutions, True), "a100-40g"),
    "BERT fp32": Setup(partial(setups.encoder, False), "a100-40g"),
    "BERT bf16 autocast": Setup(partial(setups.encoder, True), "a100-40g"),
    "Llama bf16, flash": Setup(partial(setups.decoder, torch.bfloat16), "a100-40g"),
    "Llama fp32, efficient": Setup(partial(setups.decoder, torch.float32), "a100-40g"),
    "Llama bf16, math": Setup(partial(setups.decoder, torch.bfloat16, SDPBackend.MATH), "a100-40g"),
    "Llama bf16, checkpoints": Setup(partial(setups.decoder, torch.bfloat16, None, True), "a100-40g"),
    "Llama bf16, LoRA": Setup(partial(setups.decoder, torch.bfloat16, None, False, 16), "a100-40g"),
    "Llama bf16, FSDP": Setup(setups.sharded, "a100-40g", 2),
}  # fmt: skip


def _figures(name: str) -> setups.Figures:
    """Runs a set-up in a process of its own; without a GPU in one that DevSan gives some."""
    setup = SETUPS[name]
    given = [str(Path(__file__)), "--worker", name]
    if torch.cuda.is_available():
        command = [sys.executable, *given]
    else:
        command = [sys.executable, "-m", "devsan", "run", "--gpus", f"{setup.gpus}:{setup.gpu}", *given]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    figures: setups.Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(names: list[str]) -> None:
    """Prints a row for each figure, as the page has it."""
    if names[:1] == ["--worker"]:
        print(json.dumps(SETUPS[names[1]].run()))
        return
    here = torch.cuda.get_device_name() if torch.cuda.is_available() else "DevSan"
    print(f"| set-up | GPU | figure | {here}, MiB | measured, MiB | difference |")
    print("|---|---|---|---:|---:|---:|")
    for name in names or SETUPS:
        setup = SETUPS[name]
        if torch.cuda.is_available() and torch.cuda.device_count() < setup.gpus:
            print(f"| {name} | needs {setup.gpus} GPUs | | | | |")
            continue
        for figure, got in _figures(name).items():
            known = setup.measured.get(figure)
            beside = f"{known / MIB:.2f} | {got / known - 1:+.2%}" if known else "| "
            print(f"| {name} | {setup.gpu} | {figure} | {got / MIB:.2f} | {beside} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
