"""Every operator of torch's own lists, with every dtype: what it says, what comes out, and the memory that it takes.

The samples are torch's own, made on the CPU and copied to the GPU, so that both sides see the same numbers. A dtype
that torch does not list for CUDA is tried as well: how it is refused is compared.
"""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from allocated import begin, taken, warm

LISTED, REFUSED = 4, 1  # samples of a dtype that torch lists for CUDA, and of another


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    import torch

    if not torch.cuda.is_initialized():
        warm()
    from dtypes.sweep import MADE_AT_RUN_TIME, name_of, tried
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    gc.collect()
    gc.freeze()  # what torch's lists hold is not looked at again before each sample
    for op in op_db:
        if op.name.startswith(MADE_AT_RUN_TIME):
            continue
        for dtype in tried(op):
            yield f"{name_of(op)} {str(dtype).removeprefix('torch.')}", lambda op=op, dtype=dtype: _seen(op, dtype)


def _seen(op: Any, dtype: Any) -> list[Any]:
    import torch
    from conformance.placing import Placer
    from conformance.samples import kept

    listed = dtype in op.dtypesIfCUDA
    gradient = listed and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    seen: list[Any] = []
    torch.manual_seed(0)
    try:
        for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=gradient), LISTED if listed else REFUSED):
            tree = Placer(torch.device("cuda:0")).tree((sample.input, kept(op, sample.args), sample.kwargs))
            seen.append(_one(op, tree, sample.output_process_fn_grad, gradient))
            if "CUDA error" in seen[-1].get("error", ""):
                break
    except Exception as error:  # the sample itself is refused, by the CPU
        seen.append({"sample": type(error).__name__})
    return seen


def _one(op: Any, tree: Any, process: Callable[[Any], Any], gradient: bool) -> dict[str, Any]:
    import torch
    from conformance.placing import tensors

    said: dict[str, Any] = {}
    before = begin()
    try:
        value, args, kwargs = tree
        result = op(value, *args, **kwargs)
        said["results"] = _described(result)
        said["peak"], said["kept"] = taken(before)
        leaves = [x for x in tensors(process(result)) if x.requires_grad]
        sources = [x for x in tensors(tree) if x.requires_grad]
        if gradient and leaves and sources:
            weights = [torch.ones_like(leaf) for leaf in leaves]
            before = begin()
            gradients = torch.autograd.grad(leaves, sources, weights, allow_unused=True)
            said["gradients"] = _described(gradients)
            said["backward peak"], said["backward kept"] = taken(before)
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        said = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    return said


def _described(result: Any) -> list[str]:
    import torch
    from torch.utils import _pytree as pytree

    return [_tensor(x) if isinstance(x, torch.Tensor) else type(x).__name__ for x in pytree.tree_leaves(result)]


def _tensor(tensor: Any) -> str:
    import torch

    plain = tensor.layout == torch.strided and not tensor.is_nested
    strides = f" {tuple(tensor.stride())}" if plain else f" {tensor.layout}"
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}{strides} {tensor.device}"


PARTS = ("results", "gradients", "peak", "kept", "backward peak", "backward kept")


def compared(real: dict[str, Any], emulated: dict[str, Any]) -> tuple[list[str], int, str]:
    """A text for each row that differs, with the first of its samples that does."""
    counts: Counter[str] = Counter()
    texts = []
    for title, on_gpu in real.items():
        told = None
        on_emulation = emulated.get(title)
        if title not in emulated:
            counts["rows that were not observed"] += 1
            continue
        if isinstance(on_gpu, str) or isinstance(on_emulation, str) or len(on_gpu) != len(on_emulation):
            counts["rows that did not end alike"] += 1
            told = f"{title}: rows\n  GPU:       {str(on_gpu)[:300]}\n  emulation: {str(on_emulation)[:300]}"
        else:
            for number, (theirs, ours) in enumerate(zip(on_gpu, on_emulation, strict=True)):
                counts["samples"] += 1
                for part in _apart(theirs, ours):
                    counts[f"{part} differ"] += 1
                    told = told or (
                        f"{title}, sample {number}: {part}\n  GPU:       {theirs.get(part, 'none')}"
                        f"\n  emulation: {ours.get(part, 'none')}"
                    )
        if told is not None:
            texts.append(told)
    return (
        texts,
        len(texts),
        f"{len(real):,} operators with a dtype, {len(texts):,} differ in: "
        + "; ".join(f"{name} {count:,}" for name, count in counts.items()),
    )


def _apart(theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    if theirs.get("error") != ours.get("error"):
        return ["error"]
    return [part for part in PARTS if theirs.get(part) != ours.get(part)]
