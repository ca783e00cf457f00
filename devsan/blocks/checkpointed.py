"""Whether a model computes results of operators again in the backward pass."""

from __future__ import annotations

from typing import Any


def is_checkpointed(module: Any) -> bool:
    """Returns whether a module is switched to it: as transformers does (``gradient_checkpointing``), or by torch's own
    wrapper (torch/distributed/algorithms/_checkpoint)."""
    return vars(module).get("gradient_checkpointing") is True or type(module).__name__ == "CheckpointWrapper"
