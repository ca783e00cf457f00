"""examples/llama_device_map.py: every form of device_map gives the map it should, and the tokens of plain CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

Record = dict[str, Any]
CHOICES = ["auto", "balanced", "balanced_low_0", "sequential", "ints", "names", "2"]
LAYERS = 8


def layers_on(record: Record) -> list[str]:
    """Returns the device of each decoder layer; a layer is never cut."""
    devices = []
    for layer in range(LAYERS):
        [device] = {device for name, device in record["devices"].items() if f".layers.{layer}." in name}
        devices.append(device)
    return devices


def cuda(*ordinals: int) -> list[str]:
    return [f"cuda:{ordinal}" for ordinal in ordinals]


@pytest.fixture(scope="module")
def plain(module_recorder) -> Record:
    [record] = module_recorder.on_cpu("llama_device_map.py", "auto")
    return record


@pytest.fixture(scope="module")
def emulated(module_recorder) -> dict[str, Record]:
    return dict(zip(CHOICES, module_recorder.on_gpus("llama_device_map.py", *CHOICES), strict=True))


# "auto" and "balanced" share out the bytes: accelerate reckons embedding, eight layers and head as three shares and
# leaves the last GPU to what would not have fit. The head is as large as the embedding; hence 2 + 3 + 3 layers.
EXPECTED_LAYERS: dict[str, list[str]] = {
    "auto": cuda(0, 0, 1, 1, 1, 2, 2, 2),
    "balanced": cuda(0, 0, 1, 1, 1, 2, 2, 2),
    "sequential": cuda(*[0] * 8),
    "ints": cuda(0, 0, 1, 1, 2, 2, 3, 3),
    "names": cuda(0, 0, 1, 1, 2, 2, 3, 3),
    "2": cuda(*[2] * 8),
}


@pytest.mark.parametrize("choice", EXPECTED_LAYERS)
def test_layers_are_where_the_map_says(emulated, choice):
    assert layers_on(emulated[choice]) == EXPECTED_LAYERS[choice]


def test_balanced_low_0_spares_the_first_gpu(emulated):
    layers = layers_on(emulated["balanced_low_0"])
    assert layers.count("cuda:0") < min(layers.count(device) for device in cuda(1, 2))


@pytest.mark.parametrize(
    ("choice", "write"),
    [("ints", lambda ordinal: ordinal), ("names", lambda ordinal: f"cuda:{ordinal}")],
)
def test_a_map_by_hand_is_kept_as_written(emulated, choice: str, write: Callable[[int], Any]):
    found = emulated[choice]["hf_device_map"]
    assert {name: found[name] for name in found if "layers" in name} == {
        f"model.layers.{layer}": write(layer // 2) for layer in range(LAYERS)
    }
    assert found["model.embed_tokens"] == write(0)
    assert found["lm_head"] == write(3)


@pytest.mark.parametrize("choice", CHOICES)
def test_generates_the_tokens_of_plain_cpu(plain, emulated, choice):
    assert set(plain["devices"].values()) == {"cpu"}
    assert all(device.startswith("cuda:") for device in emulated[choice]["devices"].values())
    assert torch.equal(emulated[choice]["tokens"], plain["tokens"])
    assert len(set(plain["tokens"][0].tolist())) > 4, "the tokens repeat: they would be equal by accident"


@pytest.mark.parametrize("choice", CHOICES)
def test_weights_arrive_unchanged(plain, emulated, choice):
    weights = emulated[choice]["weights"]
    assert weights.keys() == plain["weights"].keys()
    assert all(torch.equal(weights[name], weight) for name, weight in plain["weights"].items())
