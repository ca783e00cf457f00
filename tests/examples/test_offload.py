"""examples/accelerate_offload.py: layers that wait in host memory are sent to a GPU when they are used."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.long
def test_offloaded_layers_compute_as_on_cpu(recorder):
    [plain] = recorder.on_cpu("accelerate_offload.py")
    [emulated] = recorder.on_gpus("accelerate_offload.py", gpus="2")

    assert set(plain["device_map"].values()) == {"cpu"}
    assert {0, 1, "cpu"} == set(emulated["device_map"].values())
    offloaded = [name for name, device in emulated["devices"].items() if device == "meta"]
    assert offloaded
    assert all(emulated["device_map"][".".join(name.split(".")[:3])] == "cpu" for name in offloaded if "layers" in name)
    assert torch.equal(emulated["logits"], plain["logits"])
    assert emulated["losses"] == plain["losses"]
