"""``torch.cuda.FloatTensor`` and its like: the types of old programs.

torch's own ask for the dispatch key of a CUDA kernel, and refuse to work at all in a CPU build.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from devsan.cuda.patches import Patches


class TensorType(type):
    """The type of such a type: ``isinstance`` asks for device and dtype, a call makes a tensor on the current GPU."""

    dtype: torch.dtype
    is_cuda = True
    is_sparse = False
    layout = torch.strided

    def __instancecheck__(cls, tensor: object) -> bool:
        return (
            isinstance(tensor, torch.Tensor)
            and tensor.is_cuda
            and tensor.layout == torch.strided
            and tensor.dtype == cls.dtype
        )

    def __call__(cls, *args: Any, device: Any = "cuda") -> torch.Tensor:
        """Sizes, a sequence of values, a tensor, or nothing, as torch's legacy constructor takes them."""
        _warn_once(
            "The torch.cuda.*DtypeTensor constructors are no longer recommended. It's best to use methods such as "
            "torch.tensor(data, dtype=*, device='cuda') to create tensors."
        )
        device = "cuda" if device is None else device
        if torch.device(device).type != "cuda":
            raise RuntimeError(f"legacy constructor expects device type: cuda but device type: {device} was passed")
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            return args[0].to(device=device, dtype=cls.dtype)
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return torch.tensor(args[0], dtype=cls.dtype, device=device)
        return torch.empty(*(args or (0,)), dtype=cls.dtype, device=device)


_warned: set[str] = set()


def _warn_once(message: str) -> None:
    """As TORCH_WARN_ONCE does."""
    if message not in _warned or torch.is_warn_always_enabled():
        _warned.add(message)
        warnings.warn(message, UserWarning, stacklevel=3)


def install(patches: Patches) -> dict[int, Any]:
    """Replaces the types in ``torch.cuda``. Returns the new ones by the ``id`` of the old."""
    replaced = {}
    for name, old in list(vars(torch.cuda).items()):
        if type(old).__name__ == "tensortype" or type(old).__qualname__ == "torch.tensortype":
            # `Tensor.type` reads a type's C name, which of a Python class is its bare name.
            new = TensorType(f"torch.cuda.{name}", (), {"dtype": old.dtype, "__module__": "builtins"})
            patches.set(torch.cuda, name, new)
            replaced[id(old)] = new
    original = torch._C._set_default_tensor_type
    patches.set(torch._C, "_set_default_tensor_type", lambda kind: _set_default(kind, original))
    return replaced


def _set_default(kind: Any, original: Any) -> None:
    """``torch.set_default_tensor_type``: the default dtype, and the GPU as the default device of factories."""
    if isinstance(kind, TensorType):
        torch.set_default_dtype(kind.dtype)
        torch.set_default_device("cuda")
    else:
        original(kind)
        if torch.get_default_device().type == "cuda":
            torch.set_default_device(None)
