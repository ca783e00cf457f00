"""What operators charge that choose among elements, scan them, or keep tensors on the way.

Whole figures were measured on an H100 (tools/gpu_parity/recorded); the others are derived from the sources that
docs/reference/memory.md names.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.usefixtures("hopper")

N = 1 << 20
DEVICE = "cuda:0"


def taken(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes at the peak of the call, and those that its result holds."""
    gc.collect()
    time.sleep(0.01)  # autograd's thread lets go of its last gradient after the backward pass has returned
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    peak, kept = torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before
    del result
    return peak, kept


def half() -> torch.Tensor:
    return torch.arange(N, device=DEVICE) % 2 == 0


def test_topk_counts_the_digits_of_blocks_that_share_a_row() -> None:
    rows = torch.randn(64, 32000, device=DEVICE)
    assert taken(lambda: rows.topk(50)) == (506368, 38400)
    short = rows[:, :7000].contiguous()  # a block for each row
    peak, kept = taken(lambda: short.topk(50))
    assert peak == kept == 38400


def test_topk_copies_an_operand_that_is_not_contiguous() -> None:
    rows = torch.randn(7000, 64, device=DEVICE).t()
    assert taken(lambda: rows.topk(50)) == (rows.nbytes + 38400, 38400)


def test_topk_of_many_is_sorted_as_by_sort() -> None:
    rows = torch.randn(256, 8192, device=DEVICE)
    found = 256 * 5000
    peak, kept = taken(lambda: rows.topk(5000))
    # Values and places, and once more; a sort side by side has a second buffer of both, and places.
    assert kept == 12 * found
    assert 0 <= peak - kept - (12 + 20) * found < N  # a block whose rest is less than a MiB is not split
    assert taken(lambda: rows.topk(5000, sorted=False))[0] < kept + found


@pytest.mark.long
def test_multinomial_divides_by_random_numbers() -> None:
    wide, narrow = torch.ones(64, 32000, device=DEVICE), torch.ones(64, 1000, device=DEVICE)
    assert taken(lambda: wide.multinomial(1)) == (8193536, 512)
    assert taken(lambda: narrow.multinomial(8)) == (263168, 4096)
    kept = 64 * 8 * 8
    assert taken(lambda: narrow.multinomial(8, replacement=True)) == (3 * narrow.nbytes + kept, kept)


@pytest.mark.parametrize("shape", [(N,), (1024, 1024), (64, 16, 1024)])
@pytest.mark.long
def test_a_mask_is_turned_into_places(shape: tuple[int, ...]) -> None:
    values, mask = torch.randn(shape, device=DEVICE), half().view(shape)
    result, places = 4 * N // 2, 8 * len(shape) * N // 2
    assert taken(lambda: values[mask]) == (result + places, result)
    assert taken(lambda: values.masked_select(mask)) == (result + places, result)
    replaced = torch.ones(N // 2, device=DEVICE)

    def put(new: torch.Tensor | float) -> None:
        values[mask] = new

    assert taken(lambda: put(replaced)) == (places, 0)
    assert taken(lambda: put(0.5)) == (0, 0)


def test_a_mask_of_rows_has_places_of_rows() -> None:
    values, mask = torch.randn(1024, 1024, device=DEVICE), half()[:1024]
    result = 512 * 1024 * 4
    assert taken(lambda: values[mask]) == (result + 512 * 8, result)
    assert taken(lambda: values[mask.cpu()]) == (result + 512 * 8, result)


def test_the_gradient_of_a_mask_adds_up_what_it_selected() -> None:
    values, mask = torch.randn(1024, 1024, device=DEVICE, requires_grad=True), half().view(1024, 1024)
    output = values[mask]
    grad = torch.ones_like(output)
    peak, kept = taken(lambda: torch.autograd.grad(output, values, grad, retain_graph=True))
    sorted_places = 48 * N // 2
    assert kept == 4 * N
    assert 0 < peak - kept - sorted_places < sorted_places // 100  # cub's tables


def test_masked_scatter_counts_what_comes_before() -> None:
    values = torch.randn(N, device=DEVICE, requires_grad=True)
    output = values.masked_select(half())
    grad = torch.ones_like(output)
    assert taken(lambda: torch.autograd.grad(output, values, grad, retain_graph=True)) == (12602880, 4 * N)


@pytest.mark.long
def test_a_scan_of_one_row_has_a_table_of_tiles() -> None:
    whole, values = torch.ones(N, device=DEVICE, dtype=torch.long), torch.ones(N, device=DEVICE)
    assert taken(lambda: whole.cumsum(0)) == (8408576, 8 * N)
    assert taken(lambda: values.cumsum(0)) == (4199936 - 512, 4 * N)
    rows = values.view(1024, 1024)
    assert taken(lambda: rows.cumsum(1)) == (4 * N, 4 * N)
    assert taken(lambda: rows.t().cumsum(1)) == (8 * N, 4 * N)


def test_a_mask_is_brought_to_int64_before_it_is_summed_up() -> None:
    mask = half().view(1024, 1024)
    assert taken(lambda: mask.cumsum(1)) == (16 * N, 8 * N)


@pytest.mark.long
def test_a_real_result_of_complex_numbers_is_made_of_complex_ones() -> None:
    values = torch.randn(N, device=DEVICE, dtype=torch.complex64)
    assert taken(values.abs) == (12582912, 4 * N)
    spectrum = torch.randn(1024, 513, device=DEVICE, dtype=torch.complex64)
    assert taken(lambda: torch.fft.irfft(spectrum)) == (8396800, 4 * N)
    assert taken(torch.randn(N, device=DEVICE).abs) == (4 * N, 4 * N)


def test_equal_compares_into_booleans() -> None:
    one, other = torch.zeros(N, device=DEVICE), torch.zeros(N, device=DEVICE)
    assert taken(lambda: one.equal(other)) == (1050112, 0)
    assert taken(lambda: one.equal(one)) == (0, 0)


@pytest.mark.long
def test_as_many_right_sides_as_unknowns_are_permuted_in_a_copy() -> None:
    matrix = torch.randn(512, 512, device=DEVICE) + 100 * torch.eye(512, device=DEVICE)
    for call in (lambda: torch.linalg.inv(matrix), lambda: torch.linalg.solve(matrix, matrix)):
        assert 0 <= 3160576 - taken(call)[0] < 3 << 12  # cuSOLVER's own workspace is not known
    column = torch.randn(512, 1, device=DEVICE)
    assert taken(lambda: torch.linalg.solve(matrix, column))[0] < matrix.nbytes + (1 << 13)


def test_the_backward_of_a_ctc_loss_goes_back_through_time() -> None:
    steps, batch, letters, longest = 128, 32, 64, 31
    values = torch.randn(steps, batch, letters, device=DEVICE).log_softmax(2).requires_grad_()
    words = torch.randint(1, letters, (batch, longest), device=DEVICE)
    lengths = (torch.full((batch,), steps, device=DEVICE), torch.full((batch,), longest, device=DEVICE))
    loss = torch.nn.functional.ctc_loss(values, words, *lengths, reduction="none")
    grad = torch.ones_like(loss)
    peak, kept = taken(lambda: torch.autograd.grad(loss, values, grad, retain_graph=True))
    assert kept == values.nbytes
    assert peak - kept == 4 * batch * steps * (2 * longest + 1)


def test_unique_keeps_the_memory_of_its_operand() -> None:
    values = torch.ones(N, device=DEVICE)
    assert taken(values.unique) == (8552960, 4 * N)
    torch.testing.assert_close(values.unique().cpu(), torch.ones(1))


@pytest.mark.long
def test_unique_along_a_dimension_moves_it_to_the_front() -> None:
    rows = torch.zeros(1024, 1024, device=DEVICE)
    for call in (torch.unique, torch.unique_consecutive):
        peak, kept = taken(lambda call=call: call(rows, dim=0))
        assert kept == 4 * 1024
        assert peak - kept >= 8 * 1024
        assert taken(lambda call=call: call(rows, dim=1)) == (peak + rows.nbytes, kept)


@pytest.mark.long
def test_a_group_norm_has_numbers_of_channels() -> None:
    norm = torch.nn.GroupNorm(32, 64).to(DEVICE)
    values = torch.randn(16, 64, 28, 28, device=DEVICE, requires_grad=True)
    channels, groups = 16 * 64 * 4, 16 * 32 * 4
    peak, kept = taken(lambda: norm(values))
    assert peak == kept + 2 * channels
    output = norm(values)
    grad = torch.ones_like(output)
    leaves = (values, norm.weight, norm.bias)
    peak, kept = taken(lambda: torch.autograd.grad(output, leaves, grad, retain_graph=True))
    assert peak == kept + 3 * channels + 2 * groups
    plain = torch.nn.GroupNorm(32, 64, affine=False)
    peak, kept = taken(lambda: plain(values))
    assert peak == kept
