"""Weights that torch computes in a hook before each forward: by pruning, by weight and by spectral normalization.

The hook keeps the result in a plain attribute, which ``Module.to`` does not move (torch/nn/utils/prune.py,
weight_norm.py, spectral_norm.py): between a move and the next forward it is where its module was.
"""

from __future__ import annotations

from typing import Any

from devsan.introspect.frames.values import own_dict

_UTILITIES = frozenset({"torch.nn.utils.prune", "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"})


def recomputed_by(module: Any, name: str) -> str:
    """Returns the module of torch whose hook computes the attribute ``name`` of ``module``; "" where none does."""
    hooks = own_dict(module).get("_forward_pre_hooks") or {}
    for hook in list(hooks.values()):
        own = own_dict(hook)
        if own.get("_tensor_name", own.get("name")) == name:
            return next((base.__module__ for base in type(hook).__mro__ if base.__module__ in _UTILITIES), "")
    return ""
