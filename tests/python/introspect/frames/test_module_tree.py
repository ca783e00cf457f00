"""The tensors below a module, and what reading them must not do."""

from __future__ import annotations

from typing import Any

import torch

from devsan.introspect.frames.module_tree import tensors_below


class Gathering(dict):  # type: ignore[type-arg]
    """As ZeRO-3 has one: whoever asks it for a parameter has all ranks gather that."""

    def _gather(self, *_: Any) -> Any:
        raise AssertionError("a parameter was gathered")

    __getitem__ = get = items = values = _gather


def test_no_parameter_is_gathered() -> None:
    layer = torch.nn.Linear(2, 2)
    weight, bias = layer.weight, layer.bias
    layer._parameters = Gathering(layer._parameters)
    assert [(path, held is each) for (path, held), each in zip(tensors_below(layer), (weight, bias), strict=True)] == [
        (("weight",), True),
        (("bias",), True),
    ]


def test_the_nearest_come_first_and_a_shared_module_once() -> None:
    norm = torch.nn.BatchNorm1d(2, affine=False)
    root = torch.nn.ModuleDict({"deep": torch.nn.Sequential(norm), "near": norm, "none": torch.nn.Identity()})
    root.register_buffer("own", torch.ones(1))
    paths = [".".join(path) for path, _ in tensors_below(root)]
    assert paths == ["own", "near.running_mean", "near.running_var", "near.num_batches_tracked"]
