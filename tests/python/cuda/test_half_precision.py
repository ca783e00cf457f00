"""What CUDA's kernels do in half precision and the CPU's do not."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("four_gpus")


@pytest.mark.parametrize("function", [functional.softmax, functional.log_softmax])
def test_softmax_of_half_can_be_asked_for_in_float(function):
    host = torch.randn(4, 5).half()
    device = host.to("cuda:1").requires_grad_()
    result = function(device, dim=-1, dtype=torch.float32)
    assert result.dtype == torch.float32 and result.device == torch.device("cuda:1")
    torch.testing.assert_close(result.cpu(), function(host.float(), dim=-1))

    grad = torch.randn(4, 5)
    result.backward(grad.to("cuda:1"))
    reference = host.float().requires_grad_()
    function(reference, dim=-1).backward(grad)
    assert device.grad.dtype == torch.half
    torch.testing.assert_close(device.grad.cpu(), reference.grad.half())


def test_only_half_is_converted_by_softmax():
    with pytest.raises(RuntimeError, match="conversion is supported for Half type only"):
        torch._softmax(torch.rand(3, device="cuda:1").double(), 0, True)


def test_fft_of_half():
    host = torch.randn(4, 8)
    spectrum = torch.fft.rfft(host.half().to("cuda:1"))
    assert spectrum.dtype == torch.complex32
    torch.testing.assert_close(
        spectrum.to(torch.complex64).cpu(), torch.fft.rfft(host.half().float()), rtol=2e-3, atol=2e-3
    )
    back = torch.fft.irfft(spectrum)
    assert back.dtype == torch.half
    torch.testing.assert_close(back.cpu(), host.half(), rtol=5e-3, atol=5e-3)


def test_fft_of_half_takes_powers_of_two_only():
    with pytest.raises(RuntimeError, match="cuFFT only supports dimensions whose sizes are powers of two"):
        torch.fft.fft(torch.rand(6, device="cuda:1").half())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_layer_norm_keeps_its_statistics_in_float32(dtype):
    made = torch.randn(6, 32, generator=torch.Generator().manual_seed(0)).to(dtype)
    results = []
    for device in ("cpu", "cuda"):
        operands = [
            each.detach().to(device).requires_grad_() for each in (made.clone(), made[0].clone(), made[1].clone())
        ]
        output, mean, deviation = torch.native_layer_norm(operands[0], (32,), operands[1], operands[2], 1e-5)
        output.square().sum().backward()
        results.append([each.detach().cpu() for each in (output, *(each.grad for each in operands))])
        kept = dtype if device == "cpu" else torch.float32
        assert (mean.dtype, deviation.dtype) == (kept, kept)
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))
