"""Which of CUDA's fused attention kernels takes a call: what ``torch.backends.cuda.can_use_*_attention`` answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devsan import _core


def names() -> dict[str, Callable[..., Any]]:
    """The functions, by their name in ``torch._C``."""
    return {
        "_is_flash_attention_available": lambda: True,
        "_can_use_flash_attention": _asker("flash"),
        "_can_use_mem_efficient_attention": _asker("efficient"),
        "_can_use_cudnn_attention": _asker("cudnn"),
    }


def _asker(kernel: str) -> Callable[..., bool]:
    def can_use(params: Any, debug: bool = False) -> bool:
        return _core.can_use_attention(
            kernel,
            params.query,
            params.key,
            params.value,
            params.attn_mask,
            params.dropout,
            params.is_causal,
            params.enable_gqa,
            debug,
        )

    return can_use
