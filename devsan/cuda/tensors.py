"""Methods of ``torch.Tensor`` that ask for a dispatch key where they mean a device.

``new`` and ``new_tensor`` make a tensor "like this one" from the key of its kernels
(torch/csrc/utils/tensor_new.cpp, legacyExtractDispatchKey), which for an emulated tensor names another backend.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from devsan import _core
from devsan.cuda.patches import Patches

_BASE = torch._C.TensorBase
_KEY = torch._C.DispatchKey.PrivateUse1


def install(patches: Patches) -> None:
    """Puts the methods onto ``torch.Tensor``. Tensors elsewhere keep torch's own."""
    patches.set(torch.Tensor, "new_tensor", _new_tensor)
    patches.set(torch.Tensor, "new", _new)


def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    if not _is_emulated(self):
        return _BASE.new_tensor(self, data, dtype=dtype, device=device, requires_grad=requires_grad, **options)
    if has_torch_function_unary(self):
        options |= {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return handle_torch_function(Tensor.new_tensor, (self,), self, data, **options)
    return torch.tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


def _new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Sizes, values, a tensor or a storage, as the legacy constructor takes them."""
    if not _is_emulated(self):
        return _BASE.new(self, *args, **kwargs)
    if has_torch_function_unary(self):
        return handle_torch_function(Tensor.new, (self,), self, *args, **kwargs)
    device = kwargs.get("device") or self.device
    if (
        self.layout == torch.sparse_coo and len(args) > 1 and isinstance(args[0], Tensor)
    ):  # indices, values, size: torch.optim.SparseAdam
        return torch.sparse_coo_tensor(*args, dtype=self.dtype, device=device)
    if not args or isinstance(args[0], (int, torch.Size)):
        layout = torch.sparse_coo if self.layout == torch.sparse_coo else torch.strided
        return torch.empty(*(args or (0,)), dtype=self.dtype, device=device, layout=layout)
    if isinstance(args[0], Tensor):
        return args[0].detach().view_as(args[0])
    if isinstance(args[0], (torch.UntypedStorage, torch.TypedStorage)):
        return torch.empty(0, dtype=self.dtype, device=device).set_(args[0])
    return torch.tensor(args[0], dtype=self.dtype, device=device)


def _is_emulated(tensor: Tensor) -> bool:
    if not tensor.is_cuda:
        # At full size a CPU tensor may be without numbers (NOTE [Tensors without numbers]): its key names no device.
        return type(tensor) in (Tensor, torch.nn.Parameter) and _core.is_unknown(tensor)
    # Wrappers of other tensors (FakeTensor) have CUDA's key, and torch makes tensors like them by itself.
    return type(tensor) in (Tensor, torch.nn.Parameter) or torch._C._dispatch_keys(tensor).has(_KEY)


# What a mode or a subclass is told that is being called.
_new.__name__, _new.__qualname__ = "new", "TensorBase.new"
_new_tensor.__name__, _new_tensor.__qualname__ = "new_tensor", "TensorBase.new_tensor"
