"""Recurrent networks are carried out whole on the host, and look like cuDNN's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

GPU = "cuda:1"


def network(device: str) -> tuple[torch.nn.LSTM, Tensor]:
    torch.manual_seed(0)
    return torch.nn.LSTM(3, 4).to(device), torch.rand(2, 1, 3).to(device)


def test_without_autograd_the_numbers_are_the_hosts() -> None:
    (here, x), (there, y) = network("cpu"), network(GPU)
    for scope in (torch.no_grad, torch.inference_mode):
        with scope():
            for _ in range(2):  # aliases of the first call are used again by the second
                expected, output = here(x)[0], there(y)[0]
                assert output.device == torch.device(GPU) and not output.requires_grad
                assert torch.equal(output.cpu(), expected)
                output.add_(1)  # its own memory, not a network's operand


def test_an_operand_without_gradient_is_watched_too() -> None:
    for device in ("cpu", GPU):
        lstm, x = network(device)
        output = lstm(x)[0]
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            output.sum().backward()


def test_an_operand_of_a_call_without_autograd_is_not_tied_to_the_next_one() -> None:
    lstm, x = network(GPU)
    with torch.no_grad():
        lstm(x)
    version = x._version
    (torch.zeros(2, 1, 3, device=GPU) + 1).mul_(2)
    assert x._version == version


@pytest.mark.parametrize(("kind", "gates"), [(torch.nn.LSTM, 5), (torch.nn.GRU, 6), (torch.nn.RNN, 1)])
def test_the_reserve_of_cudnn_is_kept_until_the_backward(kind: type[torch.nn.RNNBase], gates: int) -> None:
    steps, batch, width, hidden = 16, 8, 64, 128
    rnn = kind(width, hidden, num_layers=2).to(GPU)
    x = torch.rand(steps, batch, width, device=GPU)
    before = torch.cuda.memory_allocated(GPU)
    output, _ = rnn(x)
    units = steps * batch * hidden
    states = 2 * batch * hidden * (4 if kind is torch.nn.LSTM else 2)  # first and last of two layers
    assert torch.cuda.memory_allocated(GPU) - before == 4 * (units + states + (2 * gates + 1) * units)
    output.sum().backward()
    gradients = sum(p.numel() for p in rnn.parameters())
    held = torch.cuda.memory_allocated(GPU) - before
    assert held < 4 * (units + states + gradients) + 16 * 512


def test_nothing_is_kept_for_a_backward_that_cannot_come() -> None:
    rnn = torch.nn.GRU(64, 128).to(GPU)
    x = torch.rand(16, 8, 64, device=GPU)
    before = torch.cuda.memory_allocated(GPU)
    with torch.no_grad():
        output, last = rnn(x)
    assert torch.cuda.memory_allocated(GPU) - before == output.nbytes + last.nbytes


def test_dropout_has_its_random_states_once_for_each_gpu() -> None:
    def taken() -> int:
        before = torch.cuda.memory_allocated("cuda:0")
        torch.nn.LSTM(3, 4, num_layers=2, dropout=0.5).to("cuda:0")(torch.rand(2, 1, 3, device="cuda:0"))
        return torch.cuda.memory_allocated("cuda:0") - before

    properties = torch.cuda.get_device_properties(0)
    assert taken() == 24 * properties.multi_processor_count * properties.max_threads_per_multi_processor
    assert taken() == 0


def test_cudnn_has_no_backward_in_evaluation_mode() -> None:
    lstm, x = network(GPU)
    output = lstm.eval()(x)[0]
    with pytest.raises(RuntimeError, match=r"^cudnn RNN backward can only be called in training mode$"):
        output.sum().backward()
    with torch.backends.cudnn.flags(enabled=False):
        lstm(x)[0].sum().backward()
    assert lstm.weight_ih_l0.grad is not None


def test_cudnn_has_no_second_backward() -> None:
    lstm, x = network(GPU)
    x.requires_grad_()
    (grad,) = torch.autograd.grad(lstm(x)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backwards is not supported for CuDNN RNNs"):
        grad.square().sum().backward()


def test_an_output_that_is_written_is_noticed() -> None:
    lstm, x = network(GPU)
    output, (hidden, _) = lstm(x)
    hidden.add_(1)  # which the backward does not read
    output.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_a_graph_is_gone_after_its_backward() -> None:
    lstm, x = network(GPU)
    total = lstm(x)[0].sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        total.backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_has_cudnn_compute_in_float16(dtype: torch.dtype) -> None:
    lstm, x = network(GPU)
    with torch.autocast("cuda", dtype=dtype):
        output, (hidden, cell) = lstm(x)
    assert output.dtype == hidden.dtype == cell.dtype == torch.float16
    output.float().sum().backward()
    assert lstm.weight_hh_l0.grad is not None and lstm.weight_hh_l0.grad.dtype == torch.float32


def test_the_gradients_are_the_hosts() -> None:
    (here, x), (there, y) = network("cpu"), network(GPU)
    for lstm, batch in ((here, x), (there, y)):
        output, (hidden, _) = lstm(batch.requires_grad_())
        (output.square().sum() + hidden.sum()).backward()
    assert x.grad is not None and y.grad is not None and torch.equal(x.grad, y.grad.cpu())
    for expected, parameter in zip(here.parameters(), there.parameters(), strict=True):
        assert expected.grad is not None and parameter.grad is not None
        assert torch.equal(expected.grad, parameter.grad.cpu())
