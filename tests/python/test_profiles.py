from __future__ import annotations

import re

import pytest

from devsan.errors import UsageError
from devsan.profiles import DEFAULT_PROFILE, all_profiles, find_profile

PROFILES = all_profiles()
NEEDED = [
    "rtx3090-24g", "rtx4090-24g", "rtx5090-32g", "v100-16g", "v100-32g", "a100-40g", "a100-80g", "a10-24g", "a10g-24g",
    "a6000-48g", "l4-24g", "l40s-48g", "t4-16g", "h100-80g", "h200-141g", "h20-96g", "b200-180g",
]  # fmt: skip


def test_the_models_that_people_have():
    assert set(NEEDED) <= set(PROFILES)
    assert DEFAULT_PROFILE in PROFILES


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_figures_are_plausible(profile):
    nominal = int(re.fullmatch(r"[a-z0-9]+-(\d+)g", profile.key)[1])
    # Between the data sheet's gigabytes, of 1000 or 1024, less at most 9 % for firmware and ECC.
    assert 0.91 * nominal * 2**30 < profile.total_memory < nominal * 2**30 * 1.01
    assert profile.total_memory % 4096 == 0
    assert (profile.major, profile.minor) in {(6, 0), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)}
    assert 20 <= profile.multi_processor_count <= 200
    assert profile.max_threads_per_multi_processor in (1024, 1536, 2048)
    assert 48 * 1024 <= profile.shared_memory_per_block_optin <= profile.shared_memory_per_multiprocessor
    assert 2**21 <= profile.l2_cache_size <= 2**27
    assert len(profile.capacity_source) > 20 and len(profile.figures_source) > 20
    assert str(nominal) in profile.capacity_source or profile.key == "b200-180g"


# torch prints these in its out-of-memory sentence ("GPU 0 has a total capacity of 79.15 GiB"); users know them.
@pytest.mark.parametrize(
    ("key", "gib"),
    [("a100-80g", "79.15"), ("a100-40g", "39.39"), ("rtx3090-24g", "23.70"), ("rtx4090-24g", "23.64"),
     ("v100-32g", "31.75"), ("v100-16g", "15.78"), ("t4-16g", "14.76"), ("p100-16g", "15.90"),
     ("rtx2080ti-11g", "10.76"), ("h200-141g", "139.80")],
)  # fmt: skip
def test_total_capacity_as_torch_prints_it(key, gib):
    assert f"{find_profile(key).total_memory / 2**30:.2f}" == gib


def test_a_device_of_a_profile():
    device = find_profile("a100-80g").device(1)
    assert (device.name, device.profile) == ("NVIDIA A100-SXM4-80GB", "a100-80g")
    assert (device.total_memory, device.used_memory) == (84987740160, 0)
    assert (device.clock_rate, device.memory_clock_rate) == (1410000, 1593000)  # kHz, as cudaDeviceProp has it
    assert (device.warp_size, device.max_threads_per_block, device.is_integrated) == (32, 1024, 0)
    small = find_profile("a100-80g").device(1, total_memory=2**20, used_memory=2**10)
    assert (small.total_memory, small.used_memory) == (2**20, 2**10)


def test_devices_can_be_told_apart_and_are_the_same_each_time():
    devices = [find_profile("l4-24g").device(ordinal) for ordinal in range(64)]
    assert len({device.uuid for device in devices}) == len({device.pci_bus_id for device in devices}) == 64
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", device.uuid) for device in devices)
    assert all(0 <= device.pci_bus_id < 256 for device in devices)
    assert devices == [find_profile("l4-24g").device(ordinal) for ordinal in range(64)]
    assert devices[0].uuid == "e3b6f66d-ca6e-5146-9965-802b65901713"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("a100-80", "a100-80g"), ("A100_80G", "a100-80g"), ("A100", "a100-80g"), ("v100", "v100-32g"),
     ("4090", "rtx4090-24g"), ("v100-32gb", "v100-32g"), ("24G", "--memory 24GiB"), ("80GB", "--memory 80GB"),
     ("NVIDIA A100-SXM4-40GB", "a100-40g"), ("NVIDIA H200", "h200-141g"), ("Tesla T4", "t4-16g"),
     ("a900", "a100-80g"), ("h300", "h100-80g or h200-141g"), ("l40", "l4-24g, l40s-48g or a40-48g")],
)  # fmt: skip
def test_the_nearest_spelling(word, meant):
    with pytest.raises(UsageError, match=re.escape(f"got {word!r}; did you mean {meant}?")):
        find_profile(word)


@pytest.mark.parametrize(("word", "key"), [("h100", "h100-80g"), ("RTX4090", "rtx4090-24g"), ("T4", "t4-16g")])
def test_a_gpu_of_one_size_needs_none(word, key):
    assert find_profile(word) is PROFILES[key]


def test_capitals_and_spaces_do_not_matter():
    assert find_profile(" RTX4090-24G ") is PROFILES["rtx4090-24g"]


def test_nothing_near():
    with pytest.raises(UsageError, match=r"got 'mi300x'$"):
        find_profile("mi300x")
