"""What operators charge to a GPU: what CUDA's kernels take, and not what the CPU's kernels take on the way."""

from __future__ import annotations

import functools
import gc
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from devsan import emulate

MIB = 1024**2
DEVICE = "cuda:0"


@pytest.fixture(scope="module", autouse=True)
def small_gpu() -> Iterator[None]:
    with emulate(gpus="a100-40g", memory="512MiB"):
        yield


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    yield
    torch._C._cuda_clearCublasWorkspaces()


def settle() -> None:
    """Waits until a thread of autograd has let go of what it computed last."""
    before = -1
    while before != torch.cuda.memory_allocated():
        before = torch.cuda.memory_allocated()
        gc.collect()
        time.sleep(0.01)


def charged(call: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that the call takes at its peak, and that its results hold."""
    settle()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    kept = torch.cuda.memory_allocated() - before
    peak = torch.cuda.max_memory_allocated() - before
    del result
    return peak, kept


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_convolution_takes_copies_with_channels_last(dtype: torch.dtype) -> None:
    image = torch.randn(8, 32, 56, 56, device=DEVICE, dtype=dtype)
    weight = torch.randn(64, 32, 3, 3, device=DEVICE, dtype=dtype)
    output = 8 * 64 * 56 * 56 * dtype.itemsize
    copies = image.nbytes + weight.nbytes + output
    assert charged(lambda: torch.conv2d(image, weight, padding=1)) == (output + copies, output)


def test_a_convolution_of_channels_last_takes_its_output() -> None:
    image = torch.randn(8, 32, 56, 56, device=DEVICE, dtype=torch.float16).to(memory_format=torch.channels_last)
    weight = torch.randn(64, 32, 3, 3, device=DEVICE, dtype=torch.float16).to(memory_format=torch.channels_last)
    output = 8 * 64 * 56 * 56 * 2
    assert charged(lambda: torch.conv2d(image, weight, padding=1)) == (output, output)
    colors = torch.randn(8, 3, 56, 56, device=DEVICE, dtype=torch.float16).to(memory_format=torch.channels_last)
    weight = torch.randn(64, 3, 3, 3, device=DEVICE, dtype=torch.float16).to(memory_format=torch.channels_last)
    filled = 2 * 8 * (8 * 56 * 56 + 64 * 3 * 3)  # three channels become eight
    assert charged(lambda: torch.conv2d(colors, weight, padding=1)) == (output + filled, output)


@pytest.mark.parametrize("kernel", [1, 3])
def test_the_backward_of_a_convolution_takes_the_gradients(kernel: int) -> None:
    image = torch.randn(8, 32, 56, 56, device=DEVICE, requires_grad=True)
    weight = torch.randn(64, 32, kernel, kernel, device=DEVICE, requires_grad=True)
    output = torch.conv2d(image, weight, padding=kernel // 2)
    grad = torch.ones_like(output)
    gradients = -(-image.nbytes // 512) * 512 + -(-weight.nbytes // 512) * 512
    copies = image.nbytes + weight.nbytes + grad.nbytes if kernel > 1 else 0
    peak, kept = charged(lambda: torch.autograd.grad(output, (image, weight), grad))
    assert (peak, kept) == (gradients + copies, gradients)


def test_an_upcast_on_the_host_is_not_charged() -> None:
    matrix = torch.randn(256, 256, device=DEVICE, dtype=torch.float16)
    torch.mm(matrix, matrix)
    for call in (lambda: torch.linalg.vector_norm(matrix, dim=1), lambda: torch.cumsum(matrix, 0)):
        peak, kept = charged(call)
        assert peak == kept


def test_copies_that_a_kernel_makes_are_not_charged() -> None:
    values = torch.randn(512, 1024, device=DEVICE).t()  # not contiguous
    for call in (lambda: torch.kthvalue(values, 5), lambda: torch.median(values, 0)):
        peak, kept = charged(call)
        assert peak == kept


def test_products_take_the_workspace_of_cublas_once() -> None:
    matrix = torch.ones(256, 256, device=DEVICE)
    workspace = (2 * 4096 + 8 * 16) * 1024
    assert torch._C._cuda_getCublasWorkspaceSize() == workspace
    assert charged(lambda: matrix @ matrix) == (workspace + matrix.nbytes, workspace + matrix.nbytes)
    assert charged(lambda: matrix @ matrix) == (matrix.nbytes, matrix.nbytes)
    with torch.cuda.stream(torch.cuda.Stream()):  # one a stream
        assert charged(lambda: matrix @ matrix) == (workspace + matrix.nbytes, workspace + matrix.nbytes)
    before = torch.cuda.memory_allocated()
    torch._C._cuda_clearCublasWorkspaces()
    assert torch.cuda.memory_allocated() == before - 2 * workspace


def test_a_backward_has_a_workspace_of_its_own() -> None:
    workspace = torch._C._cuda_getCublasWorkspaceSize()
    weight = torch.ones(64, 64, device=DEVICE, requires_grad=True)
    before = torch.cuda.memory_allocated()
    loss = (weight @ weight).sum()
    assert torch.cuda.memory_allocated() - before >= workspace
    loss.backward()
    torch._C._cuda_clearCublasWorkspaces()
    after = torch.cuda.memory_allocated()
    loss = (weight @ weight).sum()
    loss.backward()
    assert torch.cuda.memory_allocated() - after >= 2 * workspace


def test_the_size_of_the_workspace_can_be_set() -> None:
    matrix = torch.ones(16, 16, device=DEVICE)
    torch._C._cuda_setCublasWorkspaceSize(3 * MIB)
    try:
        assert charged(lambda: matrix @ matrix) == (3 * MIB + 1024, 3 * MIB + 1024)
    finally:
        torch._C._cuda_resetCublasWorkspaceSize()


def test_the_backward_of_an_embedding_sorts_many_indices() -> None:
    for count, sorts in ((3072, False), (4096, True)):
        table = torch.randn(1000, 100, device=DEVICE, requires_grad=True)
        words = torch.randint(1000, (count,), device=DEVICE)
        output = torch.nn.functional.embedding(words, table)
        grad = torch.ones_like(output)
        # Derived from EmbeddingBackwardKernel.cu: sorted and original places; offsets of segments, of their parts
        # (twice) and of all parts; for each part a row of 100 rounded up to 128.
        parts = count // 10 + 1000
        scratch = 2 * 8 * count + 8 * (count + 2 * 1000 + parts) + 4 * 128 * parts if sorts else 0
        settle()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        torch.autograd.grad(output, table, grad)
        assert torch.cuda.memory_stats()["requested_bytes.all.peak"] - before == table.nbytes + scratch


@pytest.mark.parametrize(("rows", "length"), [(4, 1 << 16), (256, 8192), (256, 1024)])
def test_a_sort_of_long_rows_takes_a_second_buffer(rows: int, length: int) -> None:
    values = torch.randn(rows, length, device=DEVICE)
    count = rows * length
    # Derived from SortStable.cu: few rows are sorted together, as pairs of a row and a place; many side by side.
    # cub has a table of 256 numbers for each pass, and for each block of 3072 values.
    together = 8 * count + 8 * count + 4 * count
    second = (4 + 8) * count
    tables = 4 * 256 * 8 + -(-count // 3072) * 256 * 4 + 512
    scratch = 8 * length if length <= 4096 else together + second + tables if rows < 128 else 8 * count + second
    peak, kept = charged(lambda: values.sort(dim=1))
    assert (peak, kept) == (count * 12 + scratch, count * 12)


def test_the_backward_of_softmax_multiplies_first() -> None:
    scores = torch.randn(256, 1024, device=DEVICE)
    weights, logarithms = scores.softmax(-1), scores.log_softmax(-1)
    backward = torch.ops.aten._softmax_backward_data
    assert charged(lambda: backward(scores, weights, -1, torch.float32)) == (2 * scores.nbytes, scores.nbytes)
    backward = torch.ops.aten._log_softmax_backward_data
    assert charged(lambda: backward(scores, logarithms, -1, torch.float32)) == (scores.nbytes, scores.nbytes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_norm_of_llama_is_one_kernel_with_the_numbers_of_the_cpu(dtype: torch.dtype) -> None:
    host = [torch.randn(64, 1024, dtype=dtype), torch.randn(1024, dtype=dtype)]
    results = []
    for device in ("cpu", DEVICE):
        rows, weight = (tensor.to(device).requires_grad_() for tensor in host)
        output = torch.nn.functional.rms_norm(rows, (1024,), weight, 1e-6)
        results.append([output, *torch.autograd.grad(output.float().pow(2).sum(), (rows, weight))])
    for theirs, ours in zip(*results, strict=True):
        assert torch.equal(theirs, ours.cpu())
    rows, weight = (tensor.to(DEVICE).requires_grad_() for tensor in host)
    norm = functools.partial(torch.nn.functional.rms_norm, rows, (1024,), weight, 1e-6)
    assert charged(norm) == (rows.nbytes + 512, rows.nbytes + 512)  # the result, and a number for each row


def test_adding_up_at_indices_sorts_them() -> None:
    values = torch.zeros(1 << 16, device=DEVICE)
    places = torch.randint(1 << 16, (1 << 18,), device=DEVICE)
    ones = torch.ones(1 << 18, device=DEVICE)
    assert charged(lambda: values.index_put_((places,), ones)) == (0, 0)
    # Places of 16 bits: two passes, of blocks of 3840 each.
    tables = 2 * 256 * 8 + -(-places.numel() // 3840) * 256 * 4 + 512
    assert charged(lambda: values.index_put_((places,), ones, accumulate=True)) == (6 * places.nbytes + tables, 0)


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_result_without_room_is_refused_before_it_is_computed() -> None:
    column = torch.ones(1 << 14, 1, device=DEVICE)
    large = torch.ones(1 << 20, device=DEVICE)
    before = _resident()
    for call in (
        lambda: column * column.t(),  # 1 GiB
        lambda: column @ column.t(),
        lambda: torch.nn.functional.one_hot(torch.zeros(1 << 14, dtype=torch.long, device=DEVICE), 1 << 14),
        lambda: large.repeat(200),
        lambda: torch.cat([large] * 200),
    ):
        with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to allocate"):
            call()
    assert _resident() - before < 256 * MIB  # the Meta kernels that are written in Python are imported then


@pytest.mark.long
def test_what_a_kernel_of_the_cpu_takes_alone_is_not_refused() -> None:
    # Columns of 9 x 64 MiB on the host, beside an output of 64 MiB.
    image = torch.randn(1, 64, 512, 512, device=DEVICE, dtype=torch.float32)
    weight = torch.randn(64, 64, 3, 3, device=DEVICE, dtype=torch.float32)
    with torch.backends.mkldnn.flags(enabled=False), torch.backends.cudnn.flags(enabled=False):
        peak, _ = charged(lambda: torch.conv2d(image, weight, padding=1))
    assert peak == image.nbytes
