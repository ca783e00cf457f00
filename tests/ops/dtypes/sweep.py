"""Which dtypes an operator takes on an emulated GPU, and which torch lists for CUDA.

torch.testing's list of operators reads the GPU's compute capability when it is imported, so this module is imported
only where GPUs are emulated: the list is then that of a CUDA build on such a GPU.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

DTYPES = (
    torch.bool,
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128),
)
RARE = (torch.complex32, torch.uint16, torch.uint32, torch.uint64)
ENOUGH = 12  # samples, where they only have to run; a dtype that is to be refused is tried with all of them
# Words of the CPU's kernels; topk's are in its meta function (Sorting.cpp), which CUDA calls too.
HOST = re.compile(r"^(?!.*topk does not support).*(CPU|cpu|MKL|m1 and m2)")
MADE_AT_RUN_TIME = ("jiterator",)  # CUDA source: an emulated GPU has no compiler for it


@dataclass(frozen=True)
class Answer:
    """What became of one operator with one dtype, forward or backward."""

    operator: str
    dtype: str
    backward: bool
    listed: bool  # by torch, for CUDA
    runs: bool
    error: str  # of an operator that does not run
    # Why the list proves nothing where it does not name the dtype: torch's own test of the list leaves it out too.
    doubt: str = ""

    @property
    def speaks_of_host(self) -> bool:
        """Whether a refusal has words that only the CPU's kernels have."""
        return HOST.search(self.error) is not None

    def __str__(self) -> str:
        if self.speaks_of_host:
            return f"{self.operator} {self.dtype}: the CPU's words: {self.error}"
        found = "runs, and torch does not list it for CUDA" if self.runs else f"torch lists it for CUDA: {self.error}"
        return f"{self.operator} {self.dtype}{' backward' if self.backward else ''}: {found}"


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def operators() -> list[str]:
    return [name_of(op) for op in op_db if not op.name.startswith(MADE_AT_RUN_TIME)]


def is_tested(op: Any) -> bool:
    """Whether torch's tests compare the list with what CUDA takes (test_dtypes in test/test_ops.py)."""
    return not any(
        getattr(decorator, "test_name", None) == "test_dtypes" and decorator.device_type in (None, "cuda")
        for decorator in op.decorators
    )


def tried(op: Any) -> Iterator[torch.dtype]:
    """As torch's own test of the list: the rare types only of operators that are to have them."""
    yield from DTYPES
    yield from (dtype for dtype in RARE if dtype in op.dtypesIfCUDA)


def forward(op: Any, dtype: torch.dtype, device: str, most: int | None = None) -> str | None:
    """The error of the first sample that is refused."""
    torch.manual_seed(0)
    try:
        for sample in islice(op.sample_inputs(device, dtype, requires_grad=False), most):
            op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def backward(op: Any, dtype: torch.dtype, device: str, most: int | None = None) -> tuple[bool, str | None]:
    """Whether there was something to differentiate, and the error of the first sample that is refused."""
    torch.manual_seed(0)
    differentiated = False
    try:
        for sample in islice(op.sample_inputs(device, dtype, requires_grad=True), most):
            result = sample.output_process_fn_grad(op(sample.input, *sample.args, **sample.kwargs))
            leaves = [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
            if leaves:
                differentiated = True
                torch.autograd.backward(leaves, [torch.ones_like(leaf) for leaf in leaves])
    except Exception as error:
        return True, f"{type(error).__name__}: {str(error)[:200]}"
    return differentiated, None


def doubt(op: Any, dtype: torch.dtype, of_backward: bool) -> str:
    """Asked only where an emulated GPU runs what is not listed."""
    if not is_tested(op):
        return "torch's own tests do not check the list of this operator"
    listed = op.supported_backward_dtypes("cpu") if of_backward else op.supported_dtypes("cpu")
    on_cpu = backward(op, dtype, "cpu")[1] if of_backward else forward(op, dtype, "cpu")
    return "the list leaves it out for the CPU too, which runs it" if on_cpu is None and dtype not in listed else ""


def answers(number: int) -> list[Answer]:
    """Of the operator of that number in torch's list."""
    op = {name_of(op): op for op in op_db}[operators()[number]]
    found = []
    warnings.simplefilter("ignore")
    for dtype in tried(op):
        name, listed = str(dtype).removeprefix("torch."), dtype in op.dtypesIfCUDA
        error = forward(op, dtype, "cuda:0", ENOUGH if listed else None)
        why = doubt(op, dtype, of_backward=False) if error is None and not listed else ""
        found.append(Answer(name_of(op), name, False, listed, error is None, error or "", why))
        differentiable = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        if error is None and listed and differentiable:
            listed = dtype in op.supported_backward_dtypes("cuda")
            any_gradient, error = backward(op, dtype, "cuda:0", ENOUGH if listed else None)
            if any_gradient:
                why = doubt(op, dtype, of_backward=True) if error is None and not listed else ""
                found.append(Answer(name_of(op), name, True, listed, error is None, error or "", why))
    return found
