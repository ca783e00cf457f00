"""GPU models that can be emulated, read from ``profiles.json``.

JSON rather than TOML: ``tomllib`` is part of Python from 3.11 on and DevSan runs on 3.10 without further packages.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from devsan.errors import UsageError
from devsan.sizes import nearest_size
from devsan.spelling import distance, nearest

DEFAULT_PROFILE = "a100-80g"

_NEAR = 3
"""Profiles that are named at most where several are equally near."""


@dataclass(frozen=True)
class DeviceSpec:
    """One emulated GPU, in the words of ``torch._C._CudaDeviceProperties`` (torch/csrc/cuda/Module.cpp).

    Sizes are bytes, clock rates kHz, the bus width bits, as in CUDA's ``cudaDeviceProp``.
    """

    profile: str
    name: str
    """As ``torch.cuda.get_device_name`` prints it; CUDA builds of torch show it as ``gcnArchName`` too."""
    total_memory: int
    used_memory: int
    """What other programs hold of ``total_memory`` for as long as the emulation lasts."""
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    uuid: str
    """Without the ``GPU-`` in front, as torch prints it; the same for the same profile and ordinal."""
    pci_bus_id: int
    pci_device_id: int = 0
    pci_domain_id: int = 0
    shared_memory_per_block: int = 48 * 1024
    regs_per_multiprocessor: int = 64 * 1024
    max_threads_per_block: int = 1024
    warp_size: int = 32
    is_integrated: int = 0
    is_multi_gpu_board: int = 0


@dataclass(frozen=True)
class Profile:
    """A GPU model: its figures as CUDA reports them, and where each figure is from."""

    key: str
    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    l2_cache_size: int
    clock_rate_mhz: int
    memory_clock_rate_mhz: int
    memory_bus_width: int
    capacity_source: str = field(repr=False)
    figures_source: str = field(repr=False)

    def device(self, ordinal: int, total_memory: int | None = None, used_memory: int = 0) -> DeviceSpec:
        """Returns this GPU as ``cuda:<ordinal>``, with ``total_memory`` bytes instead of its own if given."""
        return DeviceSpec(
            profile=self.key,
            name=self.name,
            total_memory=self.total_memory if total_memory is None else total_memory,
            used_memory=used_memory,
            major=self.major,
            minor=self.minor,
            multi_processor_count=self.multi_processor_count,
            max_threads_per_multi_processor=self.max_threads_per_multi_processor,
            shared_memory_per_block_optin=self.shared_memory_per_block_optin,
            shared_memory_per_multiprocessor=self.shared_memory_per_multiprocessor,
            L2_cache_size=self.l2_cache_size,
            clock_rate=self.clock_rate_mhz * 1000,
            memory_clock_rate=self.memory_clock_rate_mhz * 1000,
            memory_bus_width=self.memory_bus_width,
            uuid=str(uuid5(NAMESPACE_URL, f"devsan:{self.key}:{ordinal}")),
            pci_bus_id=16 + 2 * ordinal,  # one bus each, as on a server board; 64 of them stay below 256
        )


@functools.cache
def all_profiles() -> dict[str, Profile]:
    """Returns every profile by its key, in the order of the data file (by compute capability)."""
    data = json.loads(Path(__file__).with_name("profiles.json").read_text(encoding="utf-8"))
    limits = data["compute_capabilities"]
    profiles = {}
    for key, figures in data["profiles"].items():
        capability = figures.pop("compute_capability")
        major, minor = map(int, capability.split("."))
        profiles[key] = Profile(key=key, major=major, minor=minor, **limits[capability], **figures)
    return profiles


def find_profile(key: str) -> Profile:
    """Returns the profile called ``key`` (capitals do not matter); of a GPU that has one size without the size, too.

    Raises:
        UsageError: there is none, or several; the message names the one that is meant most likely.
    """
    profiles = all_profiles()
    word = key.strip().lower()
    sizes = [profile for profile in profiles.values() if word in (profile.key, profile.key.rpartition("-")[0])]
    if len(sizes) == 1:
        return sizes[0]
    near = max(sizes, key=lambda profile: profile.total_memory).key if sizes else _nearest_profile(key, profiles)
    raise UsageError("a GPU profile (devsan profiles lists them)", repr(key), near)


def _nearest_profile(key: str, profiles: dict[str, Profile]) -> str | None:
    """The nearest profile, by its key or by the name that torch prints; of a size the option that takes one."""
    size = nearest_size(key)
    if size is not None:
        return f"--memory {size}"
    alike = _models_near(key, profiles)
    if alike:
        *others, last = alike
        return f"{', '.join(others)} or {last}" if others else last
    known = {profile.name: profile.key for profile in profiles.values()} | {name: name for name in profiles}
    near = nearest(key, known)
    return None if near is None else known[near]


def _models_near(key: str, profiles: dict[str, Profile]) -> list[str]:
    """The profiles of the GPUs whose names without a size are one slip away; of each GPU the largest."""
    largest: dict[str, str] = {}
    for profile in sorted(profiles.values(), key=lambda profile: profile.total_memory):
        largest[profile.key.rpartition("-")[0]] = profile.key
    word = key.strip().lower()
    return [name for model, name in largest.items() if distance(word, model) == 1 < len(model)][:_NEAR]
