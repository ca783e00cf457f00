"""How a device looks on the page: a color, and for what is no GPU a pattern; its name always stands beside it."""

from __future__ import annotations

import re

GPU_COLORS = 8
"""GPUs beyond it take the colors again, from the first on, with a stripe."""

_GPU = re.compile(r"(?P<type>[a-z]+):(?P<index>\d+)")


def style_of(device: str) -> str:
    """Returns the classes of ``device`` ("cuda:1", "cpu", "meta", "disk", "cuda") in the style sheet."""
    if device in ("cpu", "meta", "disk"):
        return f"d-{device}"
    found = _GPU.fullmatch(device)
    if found is None:
        return "d-none"
    index = int(found["index"])
    striped = " striped" if index >= GPU_COLORS else ""
    return f"d{index % GPU_COLORS}{striped}"


def in_order(device: str) -> tuple[int, str, int]:
    """The order of devices in legends: GPUs by number, then the host, then what has no memory."""
    found = _GPU.fullmatch(device)
    if found is not None:
        return 0, found["type"], int(found["index"])
    places = {"cpu": 1, "disk": 2, "meta": 3}
    return places.get(device, 4), device, 0
