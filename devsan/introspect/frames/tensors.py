"""What can be told about a live tensor without touching its data, and what is a tensor at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from devsan.diagnostics.placement import Placement
from devsan.introspect.deadline import look

_HOLD = ("_local_tensor", "ds_tensor")

# c10::toString(ScalarType), as the core reports it, where torch's Python name is another word
_DTYPES = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "BFloat16": "bfloat16",
}


def is_tensor(value: object) -> bool:
    """Returns whether ``value`` is a torch.Tensor. Asks its type, never the object.

    See NOTE [Looking at the clock] in ``deadline``.
    """
    look()
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.Tensor)


def own_part(tensor: Any) -> Any:
    """Returns what holds the memory of ``tensor``, where that is a shell: a DTensor, a parameter of ZeRO-3."""
    for name in _HOLD:
        try:
            inner = object.__getattribute__(tensor, name)  # a slot or an entry of its own: the object is not asked
        except AttributeError:
            continue
        tensor = inner if is_tensor(inner) else tensor
    return tensor


def is_module(value: object) -> bool:
    """Returns whether ``value`` is a torch.nn.Module. Asks its type, never the object."""
    nn = sys.modules.get("torch.nn")
    return nn is not None and issubclass(type(value), nn.Module)


def placement_of(tensor: Any) -> Placement | None:
    """Returns where ``tensor`` is, None when it will not say (a subclass that computes its device, for instance)."""
    try:
        device, dtype, shape = tensor.device, tensor.dtype, tensor.shape
        return Placement(str(device), dtype_name(str(dtype)), tuple(int(size) for size in shape))
    except Exception:
        return None


def dtype_name(name: str) -> str:
    """Returns torch's Python name ("float32") of a dtype given in any of torch's spellings."""
    short = name.removeprefix("torch.")
    return _DTYPES.get(short, short)


def memory_of(tensor: Any) -> int | None:
    """Returns what stands for the allocation that ``tensor`` is in; None when it has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except Exception:
        return None


def are_apart(left: Any, right: Any) -> bool:
    """Returns whether two tensors are surely two, neither a view of the other: on one device, in two storages.

    Of a subclass, whose storage may be a mere shell, it is not known; nor of a parameter that was moved since.
    """
    return (
        left is not right and _is_plain(left) and _is_plain(right) and str(left.device) == str(right.device)
        and None not in (one := memory_of(left), other := memory_of(right)) and one != other
    )  # fmt: skip


def _is_plain(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def same_memory(left: Any, right: Any) -> bool:
    """Returns whether two tensors are one, or views that begin at one place of one storage. Reads no data.

    A transposed or reshaped parameter is still that parameter; two parameters in one flat buffer are two.
    """
    if left is right:
        return True
    try:
        one_storage = left.untyped_storage()._cdata == right.untyped_storage()._cdata
        return bool(one_storage and left.storage_offset() == right.storage_offset())
    except Exception:  # sparse tensors and the like have no storage
        return False


@contextmanager
def plain_attributes() -> Iterator[None]:
    """Keeps the ``__torch_function__`` of tensor subclasses from running while their attributes are read."""
    torch = sys.modules.get("torch")
    guard = getattr(getattr(torch, "_C", None), "DisableTorchFunctionSubclass", None)
    if guard is None:
        yield
        return
    with guard():
        yield
