"""DLPack: memory that comes back from an exchange (``__dlpack__``) as a tensor on an emulated GPU."""

from __future__ import annotations

from typing import Any

import torch

from devsan import _core
from devsan.cuda.patches import Patches


def install(patches: Patches) -> dict[int, Any]:
    """Replaces ``torch._C._from_dlpack``. Returns the new function by the ``id`` of the old."""
    original = torch._C._from_dlpack

    def from_dlpack(capsule: Any) -> torch.Tensor:
        return _core.take_over(original(capsule))

    patches.set(torch._C, "_from_dlpack", from_dlpack)
    return {id(original): from_dlpack}
