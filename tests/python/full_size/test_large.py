"""Jobs that are larger than this machine's memory run, and their memory is that of the GPUs."""

from __future__ import annotations

import resource

import pytest
import torch
from torch import nn

import devsan

GIB = 2**30


def taken() -> int:
    """Bytes of host memory that this process has."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_weights_of_forty_gigabytes_take_none() -> None:
    before = taken()
    with devsan.emulate(gpus=1, full_size=True):
        layers = nn.Sequential(*[nn.Linear(32768, 32768, bias=False) for _ in range(10)]).cuda()
        assert torch.cuda.memory_allocated() == 10 * 32768 * 32768 * 4
        assert layers(torch.ones(16, 32768, device="cuda")).shape == (16, 32768)
    assert taken() - before < GIB


def test_it_does_not_fit_at_the_step_where_a_gpu_would_say_so() -> None:
    with devsan.emulate(gpus=1, memory="24GiB", full_size=True):
        model = nn.Sequential(*[nn.Linear(16384, 16384, bias=False) for _ in range(6)]).cuda()  # 6 GiB
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        model(torch.ones(4, 16384, device="cuda")).mean().backward()  # 6 GiB more
        assert torch.cuda.memory_allocated() // GIB == 12
        with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 1024.00 MiB"):
            optimizer.step()  # 12 GiB more


def test_the_host_has_no_numbers_either() -> None:
    before = taken()
    with devsan.emulate(gpus=1, full_size=True):
        weights = [torch.randn(32768, 32768) for _ in range(8)]  # 32 GiB
        scaled = [nn.init.xavier_uniform_(each).mul_(2) for each in weights]
        assert all(devsan._core.is_unknown(each) for each in scaled)
    assert taken() - before < GIB


def test_a_state_dict_of_twenty_gigabytes_is_loaded() -> None:
    with devsan.emulate(gpus=1, full_size=True):
        first, second = (nn.Sequential(*[nn.Linear(16384, 16384) for _ in range(5)]) for _ in range(2))
        second.cuda().load_state_dict(first.state_dict())
        assert torch.cuda.memory_allocated() >= 5 * 16384 * 16384 * 4


def test_a_batch_is_normalized_in_a_low_precision() -> None:
    """The statistics are of the weight's type, as the CPU's kernel for the gradients wants them."""
    with devsan.emulate(gpus=1, full_size=True):
        layer = nn.BatchNorm2d(8).to("cuda", torch.bfloat16)
        pictures = torch.randn(16, 8, 64, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        layer(pictures).sum().backward()
        assert pictures.grad is not None
        assert layer.weight.grad.dtype == torch.bfloat16


def test_a_tensor_is_made_like_one_without_numbers() -> None:
    """``torch.nn.init.trunc_normal_`` does so, of weights on the CPU: a vision transformer's."""
    with devsan.emulate(gpus=1, full_size=True):
        weight = torch.empty(1024, 1024)
        assert weight.new_tensor([1.0, 2.0]).tolist() == [1.0, 2.0]
        assert weight.new(2, 3).shape == (2, 3)
        torch.nn.init.trunc_normal_(weight, std=0.02)
        assert weight.to("cuda").device.index == 0
