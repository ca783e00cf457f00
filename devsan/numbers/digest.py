"""What is kept of a tensor, so that two runs can be compared: few numbers, whatever its size."""

from __future__ import annotations

import functools
import math
from typing import Any

from devsan import core

SMALL = 64
"""Tensors of at most so many elements are kept whole."""

_STEP = 0.7548776662  # no rational multiple of pi: each place has a weight of its own
_PIECE = 1 << 18  # elements at a time: the buffers of an engine have GiBs, which are not to be there four times more


def digest(tensor: Any) -> dict[str, Any] | None:
    """Returns shape, dtype and numbers of ``tensor``, wherever it is; None for one without values (meta, fake).

    The numbers of a large tensor are its sum, its norm and its product with a fixed vector, all in float64: a value
    that moves to another place changes the last of them. They take no memory of the tensor's size. Of a DTensor the
    local shard is kept. No mode sees how they are computed: it would take that for calls of the program.
    """
    import torch

    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    with torch._C.DisableTorchFunction(), torch.no_grad():
        return _digest_of_local(local)


def _digest_of_local(tensor: Any) -> dict[str, Any] | None:
    import torch

    plain = type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    if not plain or tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized:
        return None
    flat = _on_host(tensor).reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat.resolve_conj()).reshape(-1)
    exact = not flat.is_floating_point()
    values = flat.to(torch.float64).tolist() if flat.numel() <= SMALL else _sums(flat)
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "exact": exact,
            "whole": len(values) == flat.numel(), "values": values}  # fmt: skip


def _sums(flat: Any) -> list[float]:
    """The sum of all elements, their norm, and their product with the weights of their places."""
    import torch

    total = squares = weighted = 0.0
    for number, part in enumerate(flat.split(_PIECE)):
        piece = part.to(torch.float64)
        total += float(piece.sum())
        squares += float(torch.dot(piece, piece))
        weighted += math.cos(number * _STEP) * float(torch.dot(piece, _weights()[: piece.numel()]))
    return [total, math.sqrt(squares), weighted]


@functools.cache
def _weights() -> Any:
    import torch

    return torch.cos(torch.arange(_PIECE, dtype=torch.float64, device="cpu") * _STEP)


def _on_host(tensor: Any) -> Any:
    """The same bytes as a tensor of the CPU: a copy would count as a transfer of the program's."""
    import torch

    tensor = tensor.detach()
    if not tensor.is_cuda or not tensor.numel():
        return tensor.to("cpu")
    view = torch.empty(0, dtype=tensor.dtype, device="cpu")
    view.set_(core.host_storage(tensor.untyped_storage()), tensor.storage_offset(), tensor.size(), tensor.stride())
    view = view.conj() if tensor.is_conj() else view
    return view.neg() if tensor.is_neg() else view
