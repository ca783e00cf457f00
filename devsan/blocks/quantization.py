"""Quantization as a lever: models that ``from_pretrained`` of transformers loads have their weights in fewer bits.

What is told is what a program would write: ``quantization_config=BitsAndBytesConfig(load_in_8bit=True)``.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from devsan.cuda.patches import Patches

MODULE = "transformers.modeling_utils"

LIBRARY = "bitsandbytes"

_CONFIG = "quantization_config"


class Quantization:
    """Has models loaded in ``bits`` bits, and notes whether they could be.

    Args:
        bits: 8 or 4; 0 leaves models as they are.

    Attributes:
        state: "off" where a model was loaded that could be quantized, "on" where it was quantized already, "missing"
            where bitsandbytes is not installed; "" where none was loaded by transformers.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.state = ""

    def follow(self, module: Any, patches: Patches) -> None:
        """Watches what is loaded. ``patches`` undo it; the module is transformers.modeling_utils."""
        load = vars(module.PreTrainedModel)["from_pretrained"]

        @functools.wraps(load.__func__)
        def loaded(cls: Any, *args: Any, **named: Any) -> Any:
            if self._bits and self._can(named):
                from transformers import BitsAndBytesConfig

                named[_CONFIG] = BitsAndBytesConfig(load_in_8bit=self._bits == 8, load_in_4bit=self._bits == 4)
            model = load.__func__(cls, *args, **named)
            self._look(model[0] if isinstance(model, tuple) else model)
            return model

        patches.set(module.PreTrainedModel, "from_pretrained", classmethod(loaded))

    def _can(self, named: dict[str, Any]) -> bool:
        return named.get(_CONFIG) is None and getattr(named.get("config"), _CONFIG, None) is None

    def _look(self, model: Any) -> None:
        if getattr(model, "quantization_method", None) is not None:
            self.state = self.state or "on"
        elif self.state in ("", "on"):
            self.state = "off" if importlib.util.find_spec(LIBRARY) else "missing"
