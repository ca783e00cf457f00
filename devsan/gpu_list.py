"""How GPUs are written: their number, their models, or both."""

from __future__ import annotations

from devsan.errors import UsageError
from devsan.profiles import DEFAULT_PROFILE, find_profile

MAX_GPUS = 64
"""torch keeps GPUs in bitsets of 120 (C10_COMPILE_TIME_MAX_GPUS in c10/cuda/CUDAMacros.h) and its DeviceIndex is an
int8. 64 stays well inside both, is four times the largest machine that NVIDIA sells as one system image, and bounds
the one thread per GPU that autograd starts."""

REAL = "real"
"""As ``gpus``: nothing is emulated, errors are explained on the GPUs that are there."""


def _read_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_GPUS:
        raise UsageError(f"1 to {MAX_GPUS} GPUs", text)
    return count


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def read_gpus(text: str) -> tuple[str | None, ...]:
    """Returns what ``4``, ``4:a100-80g``, ``a100-80g,l4-24g``, ``2*a100-80g,l4-24g`` and ``real`` say.

    A profile per GPU, or None for each where only their number was given; nothing for ``real``. The form with a colon
    cannot occur in ``DEVSAN_OPTIONS``, where a colon ends the option.

    Raises:
        UsageError: it is none of these, or names no GPU model.
    """
    text = text.strip()
    if text == REAL:
        return ()
    if _is_integer(text):
        return (None,) * _read_count(text)
    count, colon, profile = text.partition(":")
    if colon and _is_integer(count):
        return (find_profile(profile).key,) * _read_count(count)
    gpus: list[str | None] = []
    for item in text.split(","):
        count, star, profile = item.rpartition("*")
        if star and not _is_integer(count.strip()):
            raise UsageError("a number before * in a list of GPUs", repr(item), repr(f"2*{profile.strip()}"))
        if not star and _is_integer(item.strip()):
            # Ordinals, as CUDA_VISIBLE_DEVICES takes them, are what people write here by mistake.
            count = str(len(text.split(",")))
            raise UsageError("a number of GPUs or a list of profiles such as 2*a100-80g,l4-24g", repr(text), count)
        gpus += [find_profile(profile).key] * (_read_count(count.strip()) if star else 1)
    if len(gpus) > MAX_GPUS:
        raise UsageError(f"1 to {MAX_GPUS} GPUs", str(len(gpus)))
    return tuple(gpus)


def write_gpus(gpus: tuple[str | None, ...]) -> str:
    """Returns the text of which ``read_gpus`` makes ``gpus``."""
    if not gpus:
        return REAL
    if gpus[0] is None:
        return str(len(gpus))
    runs: list[tuple[int, str]] = []
    for profile in gpus:
        if runs and runs[-1][1] == profile:
            runs[-1] = (runs[-1][0] + 1, runs[-1][1])
        else:
            runs.append((1, profile or DEFAULT_PROFILE))
    return ",".join(profile if count == 1 else f"{count}*{profile}" for count, profile in runs)
