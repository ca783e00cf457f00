"""What torch.cuda says of the GPU itself, against its profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

JOBS = (1, 1)
# Of the machine, not of the model of GPU: the emulation has numbers of its own.
OWN = ("uuid", "pci_bus_id", "pci_device_id", "pci_domain_id")


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    import torch

    names = [name for name in dir(torch.cuda.get_device_properties(0)) if not name.startswith("_") and name not in OWN]
    for name in names:
        yield name, lambda name=name: str(getattr(torch.cuda.get_device_properties(0), name))
    yield "get_device_capability", lambda: list(torch.cuda.get_device_capability())
    yield "get_arch_list", torch.cuda.get_arch_list
    yield "is_bf16_supported", torch.cuda.is_bf16_supported
    yield "mem_get_info, total", lambda: torch.cuda.mem_get_info()[1]
    yield "mem_get_info, taken by the context", lambda: torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]
    yield "get_allocator_backend", torch.cuda.get_allocator_backend
    yield "allow_tf32 of cuBLAS and cuDNN", lambda: [
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.backends.cudnn.is_available(),
    ]  # fmt: skip
    yield "stream_priority_range", lambda: list(torch.cuda.Stream.priority_range())
    yield "memory_stats, names", lambda: sorted(torch.cuda.memory_stats())
    yield "repr of a tensor", lambda: repr(torch.ones(2, device="cuda"))
    yield "repr of the current stream", lambda: repr(torch.cuda.current_stream())
    yield "nvml, name", lambda: torch.cuda.get_device_name()


def compared(real: dict[str, Any], emulated: dict[str, Any]) -> tuple[list[str], int, str]:
    """A text for each row that was not observed alike, and a summary."""
    texts = [
        f"{title}\n  GPU:       {json.dumps(said)}\n  emulation: {json.dumps(emulated.get(title, 'not observed'))}"
        for title, said in real.items()
        if said != emulated.get(title, "not observed")
    ]
    return texts, len(texts), f"{len(real):,} rows, {len(texts)} differ"
