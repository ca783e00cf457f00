"""Autograd, storages, generators, NumPy, files, DataParallel: devices outside operators."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
import torch
from sentences import A, B, Case, check, ones, row
from torch import nn


class Misplaced(torch.autograd.Function):
    """Its gradient is on another device than its input."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, device: str) -> torch.Tensor:
        context.device = device
        return tensor.clone()

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0].to(context.device), None


def misplaced_gradient(device: str) -> None:
    Misplaced.apply(ones(2, on=A).requires_grad_(), device).sum().backward()


def loaded_elsewhere() -> None:
    """A checkpoint from a machine with more GPUs."""
    file = io.BytesIO()
    torch.save(ones(2, on=B), file)
    file.seek(0)
    content = file.getvalue().replace(b"cuda:1", b"cuda:7")
    torch.load(io.BytesIO(content), weights_only=True)


CASES = [
    row(
        "istft",
        lambda: torch.istft(torch.ones(5, 3, dtype=torch.complex64, device=A), 8, window=ones(8)),
        "istft input and window must be on the same device but got self on cuda:0 and window on cpu",
    ),
    row(
        "block_diag",
        lambda: torch.block_diag(ones(1, 1, on=A), ones(1, 1)),
        "torch.block_diag: input tensors must all be on the same device. Input 0 is on device cuda:0 and input 1 is on "
        "device cpu",
    ),
    row(
        "meshgrid",
        lambda: torch.meshgrid(ones(2, on=A), ones(2), indexing="ij"),
        "meshgrid expects all tensors to have the same device",
    ),
    row(
        "multi_dot",
        lambda: torch.linalg.multi_dot([ones(2, 2, on=A), ones(2, 2), ones(2, 2)]),
        "multi_dot(): all tensors must be on the same device but tensor 0 is on cuda:0 and tensor 1 on cpu",
    ),
    row(
        "DataParallel",
        lambda: nn.DataParallel(nn.Linear(2, 2).to(B), device_ids=[0, 1])(ones(4, 2, on=A)),
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: "
        "cuda:1",
    ),
    row(
        "a gradient on the CPU",
        lambda: misplaced_gradient("cpu"),
        "Function MisplacedBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    row(
        "a gradient on another GPU",
        lambda: misplaced_gradient(B),
        "Function MisplacedBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cuda:1",
    ),
    row(
        "set_",
        lambda: ones(2, on=A).set_(ones(2, on=B)),
        'Attempted to set the storage of a tensor on device "cuda:0" to a storage on different device "cuda:1".  '
        "This is no longer allowed; the devices must match.",
    ),
    row(
        "a CPU generator for a GPU",
        lambda: torch.randn(2, device=A, generator=torch.Generator()),
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    row(
        "a GPU's generator for the CPU",
        lambda: torch.randn(2, generator=torch.Generator(A)),
        "Expected a 'cpu' device type for generator but found 'cuda'",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)


def test_a_tensor_of_a_gpu_is_no_array() -> None:
    message = (
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )
    for call in (lambda: ones(2, on=A).numpy(), lambda: np.asarray(ones(2, on=A))):
        with pytest.raises(TypeError) as failure:
            call()
        assert str(failure.value) == message


def test_an_ordinal_that_is_not_there_is_cudas_error() -> None:
    for call in (lambda: ones(1, on="cuda:7"), lambda: ones(1).to("cuda:4"), lambda: torch.cuda.set_device(9)):
        with pytest.raises(torch.AcceleratorError, match=r"^CUDA error: invalid device ordinal\n"):
            call()


def test_a_checkpoint_of_a_larger_machine_is_refused() -> None:
    with pytest.raises(RuntimeError) as failure:
        loaded_elsewhere()
    assert str(failure.value).startswith(
        "Attempting to deserialize object on CUDA device 7 but torch.cuda.device_count() is 4. Please use torch.load "
        "with map_location to map your storages to an existing device."
    )


def test_meta_tensors_have_no_data_to_copy() -> None:
    with pytest.raises(NotImplementedError) as failure:
        ones(2, on="meta").to(A)
    assert str(failure.value) == "Cannot copy out of meta tensor; no data!"
    with pytest.raises(NotImplementedError, match=re.escape("Please use torch.nn.Module.to_empty() instead")):
        nn.Linear(2, 2, device="meta").to(A)


def test_a_gradient_is_assigned_only_on_its_tensors_device() -> None:
    parameter = ones(2, on=A).requires_grad_()
    with pytest.raises(RuntimeError) as failure:
        parameter.grad = ones(2)
    assert str(failure.value) == (
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. Please ensure "
        "that the gradient and the tensor are on the same device"
    )
    with pytest.raises(RuntimeError, match=r"^attempting to assign a gradient located on device with index"):
        parameter.grad = ones(2, on=B)


def test_data_may_change_its_device() -> None:
    tensor = ones(2)
    tensor.data = ones(2, on=B)
    assert tensor.device == torch.device(B)


def test_a_refusal_leaves_its_operands_as_they_were() -> None:
    target = ones(3, on=A)
    version = target._version
    with pytest.raises(RuntimeError):
        target.add_(ones(3, on=B))
    assert torch.equal(target.cpu(), torch.ones(3))
    assert target._version == version


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            lambda: torch.bernoulli(ones(2, on=B), generator=torch.Generator(A)), id="another GPU's generator"
        ),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)
