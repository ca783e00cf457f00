"""What can be changed so that a job fits, beside where its blocks are: batch, checkpointing, bits of a weight."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from devsan.blocks import quantization
from devsan.blocks.checkpointed import is_checkpointed
from devsan.blocks.quantization import Quantization
from devsan.cuda.imports import Change
from devsan.cuda.patches import Patches

_DATA_LOADER = "torch.utils.data.dataloader"


class Levers:
    """Changes a program's batch, its checkpointing and its weights, and notes what they are.

    Args:
        batch: the samples of a batch; 0 leaves them.
        checkpointing: whether models turn gradient checkpointing on.
        bits: of the weights that transformers loads; 0 leaves them.
    """

    def __init__(self, batch: int, checkpointing: bool, bits: int) -> None:
        self._batch = batch
        self._quantization = Quantization(bits)
        self._checkpointing = checkpointing
        self._loads = False
        self._runs = False
        self._seen = 0
        self._state = ""

    def told(self) -> Mapping[str, Any]:
        """Returns what was seen, as the answer to a request has it."""
        return {"batch": self._seen, "checkpointing": self._state, "quantization": self._quantization.state}

    def changes(self, patches: Patches) -> dict[str, Change]:
        """Returns what is to be done to torch's loader of data and to transformers, once they are imported."""
        return {
            _DATA_LOADER: lambda module: self._in_loader(module, patches),
            quantization.MODULE: lambda module: self._quantization.follow(module, patches),
        }

    def placed(self, model: Any) -> None:
        """Looks at a model that was placed."""
        self._state = _checkpointing_of(model)
        if self._checkpointing and self._state == "off":
            model.gradient_checkpointing_enable()
        model.register_forward_pre_hook(self._forward, with_kwargs=True, prepend=True)

    def _in_loader(self, module: Any, patches: Patches) -> None:
        begin = module.DataLoader.__init__

        @functools.wraps(begin)
        def made(loader: Any, dataset: Any, batch_size: Any = 1, *args: Any, **named: Any) -> None:
            if self._batch and batch_size is not None and named.get("batch_sampler") is None:
                self._loads = True
                batch_size = self._batch
            begin(loader, dataset, batch_size, *args, **named)

        patches.set(module.DataLoader, "__init__", made)

    def _forward(self, model: Any, args: Any, named: Any) -> Any:
        """Cuts a batch that no loader has made: what the model takes, its labels among it."""
        if not self._runs and not self._checkpointing:
            self._state = _checkpointing_of(model)  # a Trainer turns it on behind the place where it places a model
        self._runs = True
        torch = sys.modules["torch"]
        shapes = [each.shape for each in (*args, *named.values()) if isinstance(each, torch.Tensor) and each.dim() > 1]
        if not shapes:
            return None
        size = int(shapes[0][0])
        self._seen = self._seen or size
        if not self._batch or self._loads or self._batch >= size:
            return None

        def cut(each: Any) -> Any:
            is_batch = isinstance(each, torch.Tensor) and each.dim() > 0 and each.shape[0] == size
            return each[: self._batch].clone() if is_batch else each  # a view would keep all of it alive

        return tuple(map(cut, args)), {name: cut(each) for name, each in named.items()}


def _checkpointing_of(model: Any) -> str:
    """Whether it is "on", or "off" where the model has a switch for it."""
    if any(map(is_checkpointed, model.modules())):
        return "on"
    return "off" if getattr(model, "supports_gradient_checkpointing", False) else ""
