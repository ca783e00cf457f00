"""``CUDA_VISIBLE_DEVICES``, read as the CUDA driver reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

VARIABLE = "CUDA_VISIBLE_DEVICES"

# The driver reads a number with strtoul and ignores what follows it: "1gpu2" is 1.
_NUMBER = re.compile(r"[+-]?\d+")


def visible_devices(text: str | None, uuids: Sequence[str]) -> list[int]:
    """Returns the ordinals of the GPUs that are visible, in the order in which the program numbers them.

    The first entry that names no GPU ends the list; an entry that is given twice leaves none, as in CUDA C++
    Programming Guide, section CUDA Environment Variables, and ``_parse_visible_devices`` of torch/cuda/__init__.py.

    Args:
        text: the value of the variable; None, when it is not set, means all.
        uuids: of all GPUs of the machine, each as ``GPU-...``.
    """
    if text is None:
        return list(range(len(uuids)))
    if text.startswith(("GPU-", "MIG-")):
        return _by_uuid(text, uuids)
    chosen: list[int] = []
    seen: set[int] = set()
    for entry in text.split(","):
        match = _NUMBER.match(entry.strip())
        number = int(match.group()) if match else -1
        if number in seen:
            return []
        if number < 0:
            break
        seen.add(number)
        chosen.append(number)
    return _until_invalid(chosen, len(uuids))


def _until_invalid(numbers: list[int], count: int) -> list[int]:
    for position, number in enumerate(numbers):
        if number >= count:
            return numbers[:position]
    return numbers


def _by_uuid(text: str, uuids: Sequence[str]) -> list[int]:
    """A beginning of a UUID is enough where only one GPU has it. No emulated GPU is cut into MIG instances."""
    chosen: list[int] = []
    for entry in text.split(","):
        found = [ordinal for ordinal, uuid in enumerate(uuids) if uuid.startswith(entry)]
        if len(found) != 1 or not entry.startswith("GPU-"):
            break
        if found[0] in chosen:
            return []
        chosen += found
    return chosen
