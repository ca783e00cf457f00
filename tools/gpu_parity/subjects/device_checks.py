"""Calls on the GPU and the CPU at once: the half of the matrix of tests/device_checks that needs one GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = 6  # of each of torch's entries, as in `make device-checks`


def prepare(scratch: Path) -> None:
    from sides import in_process

    in_process(__file__, scratch)


def make(scratch: Path) -> None:
    from matrix.samples import samples, save

    save(samples(SAMPLES), scratch / "samples.pt")


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    from matrix.arrangements import arrangements
    from matrix.samples import load

    warnings.simplefilter("ignore")
    for name, call in load(scratch / "samples.pt").items():
        for arrangement in arrangements(call):
            if arrangement.one_gpu:
                operand = call.operands[arrangement.operand].name
                title = f"aten::{name}, {operand}: {arrangement.title}"
                yield title, lambda call=call, arrangement=arrangement: _said(call, arrangement)


def _said(call: Any, arrangement: Any) -> str:
    import torch
    from matrix.outcomes import outcome

    said = outcome(call, arrangement)
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error).split("\n", 1)[0]
    return said


def compared(real: dict[str, str], emulated: dict[str, str]) -> tuple[list[str], int, str]:
    """Differences in what is said about devices. Where a kernel of CUDA reads an illegal address, refusing is right."""
    from matrix.outcomes import DEVICES

    texts, illegal, others = [], 0, 0
    for title, on_gpu in real.items():
        on_emulation = emulated.get(title, "not observed")
        if on_gpu == on_emulation:
            continue
        if "illegal memory access" in on_gpu and DEVICES.search(on_emulation):
            illegal += 1
        elif (
            DEVICES.search(on_gpu)
            or DEVICES.search(on_emulation)
            or "CUDA error" in on_gpu
            or bool(on_gpu) != bool(on_emulation)
        ):
            texts.append(f"{title}\n  GPU:       {on_gpu or 'accepted'}\n  emulation: {on_emulation or 'accepted'}")
        else:
            others += 1
    refused = sum(1 for said in real.values() if DEVICES.search(said))
    summary = f"{len(real):,} calls, of which the GPU refuses {refused:,} for their devices: {len(texts)} differ; "
    summary += f"{illegal} read an illegal address on the GPU and are refused by the emulation; "
    return texts, len(texts), f"{summary}{others} end in another error on each"


if __name__ == "__main__":
    import sys

    make(Path(sys.argv[1]))
