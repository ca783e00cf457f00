"""The subjects of the comparison: torch's lists of operators, modules and optimizers, and their samples on the CPU."""

from __future__ import annotations

import itertools
import random
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as invocations
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.testing._internal.custom_op_db import custom_op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.testing._internal.opinfo.definitions.nested import njt_op_db

from . import beyond, networks
from .placing import Kept

JAGGED = 12  # samples of an operator on jagged tensors
LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


@dataclass
class Sample:
    """Something to call, and what to call it with: for operators the tree (input, args, kwargs)."""

    tree: Any
    call: Callable[[Any], Any]
    process: Callable[[Any], Any] = lambda result: result  # before it is differentiated
    close: bool = False  # the last bits may differ
    random: bool = False  # the values may differ


@dataclass(frozen=True)
class Subject:
    """One operator (module, optimizer) with one type."""

    database: str
    name: str
    dtype: torch.dtype
    info: Any

    def __str__(self) -> str:
        return f"{self.database}/{self.name}/{str(self.dtype).removeprefix('torch.')}"


def name_of(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def ordered(dtypes: Any) -> list[torch.dtype]:
    return sorted(dtypes, key=str)


def is_on_cuda(op: OpInfo, dtype: torch.dtype) -> bool:
    """By torch's list, which names bfloat16 of a few operators only where there is a GPU."""
    return dtype in op.dtypesIfCUDA or (dtype == torch.bfloat16 and torch.float16 in op.dtypesIfCUDA)


def operators(database: str, infos: list[OpInfo]) -> Iterator[Subject]:
    for op in infos:
        if op.name.startswith("jiterator"):  # CUDA source, compiled at run time
            continue
        # What CUDA has in no type is compared all the same: how it is refused.
        taken = [dtype for dtype in op.supported_dtypes("cpu") if is_on_cuda(op, dtype) or not op.dtypesIfCUDA]
        for dtype in ordered(taken):
            yield Subject(database, name_of(op), dtype, op)


def foreach_infos() -> list[OpInfo]:
    names = ("unary", "binary", "pointwise", "reduce", "other")
    return list(itertools.chain.from_iterable(getattr(invocations, f"foreach_{name}_op_db") for name in names))


def sparse_infos() -> list[OpInfo]:
    return [op for op in invocations.op_db if any(op.supports_sparse_layout(layout) for layout in LAYOUTS)]


def subjects() -> list[Subject]:
    found = [
        *operators("op_db", invocations.op_db),
        *operators("foreach", foreach_infos()),
        *operators("sparse", sparse_infos()),
    ]
    found += [Subject("nested", name_of(op), torch.float32, op) for op in njt_op_db]
    found += operators("custom", custom_op_db)
    found += [Subject("cuda_types", name_of(op), d, op) for op in invocations.op_db for d in beyond.types_of_cuda(op)]
    for module in module_db:
        found += [Subject("module_db", module.name, dtype, module) for dtype in ordered(module.supported_dtypes("cpu"))]
    for optimizer in optim_db:
        dtypes = [torch.float32, torch.float64, *([torch.complex64] if optimizer.supports_complex else [])]
        found += [Subject("optim_db", optimizer.name, dtype, optimizer) for dtype in dtypes]
    return found


def drawn(found: list[Subject], share: float, seed: int) -> list[Subject]:
    """A part of the subjects, the same for the same seed."""
    return random.Random(seed).sample(found, max(1, round(len(found) * share)))


def differentiable(subject: Subject) -> bool:
    return isinstance(subject.info, OpInfo) and subject.dtype in subject.info.supported_backward_dtypes("cpu")


def kept(op: OpInfo, args: Any) -> Any:
    """torch splits by numbers: it wants a tensor of them on the CPU, also where it splits a GPU's."""
    if op.name != "tensor_split":
        return args
    return tuple(Kept(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)


def call_of(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda tree: function(tree[0], *tree[1], **tree[2])


def samples(subject: Subject) -> Iterator[Sample]:
    if subject.database == "module_db":
        yield from networks.module_samples(subject.info, subject.dtype)
    elif subject.database == "optim_db":
        yield from networks.optimizer_samples(subject.info, subject.dtype)
    elif subject.database == "sparse":
        yield from sparse_samples(subject)
    elif subject.database == "nested":
        yield from itertools.islice(jagged_samples(subject), JAGGED)
    elif subject.database == "cuda_types":
        for sample in subject.info.sample_inputs("cpu", subject.dtype):
            call = beyond.wider_on_host(call_of(subject.info), subject.dtype)
            yield Sample((sample.input, kept(subject.info, sample.args), sample.kwargs), call, close=True)
    else:
        op = subject.info
        for sample in op.sample_inputs("cpu", subject.dtype, requires_grad=differentiable(subject)):
            tree = sample.input, kept(op, sample.args), sample.kwargs
            yield Sample(tree, call_of(op), sample.output_process_fn_grad)


def jagged_samples(subject: Subject) -> Iterator[Sample]:
    op = subject.info
    try:
        for sample in op.sample_inputs("cpu", subject.dtype, requires_grad=differentiable(subject)):
            yield Sample((sample.input, sample.args, sample.kwargs), call_of(op), sample.output_process_fn_grad)
    except RuntimeError as error:
        if "does not support NJT" not in str(error):  # torch has no samples of it
            raise


def sparse_samples(subject: Subject) -> Iterator[Sample]:
    op = subject.info
    for layout in LAYOUTS:
        if not op.supports_sparse_layout(layout):
            continue
        try:
            for sample in op.sample_inputs_sparse(layout, "cpu", subject.dtype, requires_grad=differentiable(subject)):
                yield Sample((sample.input, sample.args, sample.kwargs), call_of(op), sample.output_process_fn_grad)
        except (unittest.SkipTest, NotImplementedError):
            continue


def error_samples(subject: Subject) -> Iterator[Sample]:
    op = subject.info
    if op.error_inputs_func is not None:
        for error in op.error_inputs("cpu"):
            sample = error.sample_input
            yield Sample((sample.input, sample.args, sample.kwargs), call_of(op))
