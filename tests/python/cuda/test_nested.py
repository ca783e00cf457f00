"""Nested tensors: the buffer is on the GPU, the sizes of the parts are not."""

from __future__ import annotations

import pytest
import torch

pytestmark = [
    pytest.mark.usefixtures("four_gpus"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]


def test_sizes_strides_and_offsets_are_on_the_cpu() -> None:
    nested = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(2, 4)], device="cuda:1")
    assert nested.device == torch.device("cuda:1")
    for describing in (
        nested._nested_tensor_size(),
        nested._nested_tensor_strides(),
        nested._nested_tensor_storage_offsets(),
    ):
        assert describing.device == torch.device("cpu")
    assert nested._nested_tensor_size().tolist() == [[2, 3], [2, 4]]


def test_backward_takes_a_nested_gradient() -> None:
    parts = [torch.rand(2, 3, device="cuda:1", requires_grad=True), torch.rand(2, 4, device="cuda:1")]
    nested = torch.nested.as_nested_tensor(parts)
    grads = [torch.rand(2, 3, device="cuda:1"), torch.rand(2, 4, device="cuda:1")]
    (nested * 2).backward(torch.nested.nested_tensor(grads))
    torch.testing.assert_close(parts[0].grad, grads[0] * 2)


def test_a_buffer_on_the_gpu_takes_sizes_on_the_cpu() -> None:
    buffer = torch.rand(10, device="cuda:1")
    sizes, strides = torch.tensor([[2, 3], [1, 4]]), torch.tensor([[3, 1], [4, 1]])
    nested = torch._nested_view_from_buffer(buffer, sizes, strides, torch.tensor([0, 6]))
    assert nested.device == torch.device("cuda:1")
    assert nested.unbind()[1].tolist() == [buffer[6:].tolist()]
