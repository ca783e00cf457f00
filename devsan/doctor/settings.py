"""DeepSpeed's settings, whichever file says them: DeepSpeed's own, or the ``deepspeed_config`` of an accelerate file.

A setting is asked for by the name that DeepSpeed documents; aliases, deprecated names and accelerate's names are found
as well (deepspeed/runtime/zero/config.py; accelerate/utils/dataclasses.py, DeepSpeedPlugin).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.document import Document
from devsan.doctor.nodes import Member, Node

OFFLOADS = ("offload_optimizer", "offload_param")

_ZERO = "zero_optimization."
_ALIASES = {
    "stage3_gather_16bit_weights_on_model_save":
        ("gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save"),
    **{f"stage3_{name}": (name,) for name in (
        "prefetch_bucket_size", "param_persistence_threshold", "model_persistence_threshold", "max_live_parameters",
        "max_reuse_distance")},
}  # fmt: skip
_DEPRECATED = {"offload_optimizer": "cpu_offload", "offload_param": "cpu_offload_param"}
_OF_ACCELERATE = {
    "zero_optimization.stage": "zero_stage",
    "zero_optimization.offload_optimizer.device": "offload_optimizer_device",
    "zero_optimization.offload_param.device": "offload_param_device",
    "zero_optimization.offload_optimizer.nvme_path": "offload_optimizer_nvme_path",
    "zero_optimization.offload_param.nvme_path": "offload_param_nvme_path",
    "zero_optimization.stage3_gather_16bit_weights_on_model_save": "zero3_save_16bit_model",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "gradient_clipping",
}
_WHOLE = re.compile(r"([+-]?\d(?:_?\d){0,30})(?:\.0*)?", re.ASCII)
_TRUE, _FALSE = {"1", "on", "t", "true", "y", "yes"}, {"0", "off", "f", "false", "n", "no"}


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        name: as it is written in the file, from its top.
        node: its value.
        key: where its name stands.
    """

    name: str
    node: Node
    key: Place

    @property
    def value(self) -> Any:
        """The value; None for objects and lists."""
        return self.node.value

    @property
    def place(self) -> Place:
        """Where the value stands."""
        return self.node.place

    @property
    def auto(self) -> bool:
        """Whether the value is left to the Trainer or to accelerate."""
        return bool(self.node.value == "auto")

    def written(self) -> str:
        """Returns ``stage = 3``, by the last part of the name."""
        return f"{self.name.rpartition('.')[2]} = {self.node.written()}"


class Settings:
    """The settings of a document.

    Args:
        document: of kind "deepspeed", or "accelerate" with distributed_type DEEPSPEED.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.by_accelerate = document.kind == "accelerate"

    def get(self, path: str) -> Setting | None:
        """Returns the setting that DeepSpeed documents under ``path``; None where the file does not have it."""
        if self.by_accelerate:
            name = _OF_ACCELERATE.get(path)
            return self._member(f"deepspeed_config.{name}") if name else None
        found = self._member(path)
        if found is None and path.startswith("bf16."):
            return self._member(path.replace("bf16.", "bfloat16.", 1)) if self._member("bf16") is None else None
        if found is None and path.startswith(_ZERO):
            for alias in _ALIASES.get(path[len(_ZERO) :], ()):
                found = found or self._member(_ZERO + alias)
        return found

    def has(self, path: str) -> bool:
        """Returns whether the file has the setting, whatever its value."""
        return self.get(path) is not None

    def number(self, path: str) -> int | None:
        """Returns a whole number as DeepSpeed would read it; None where there is none, or "auto"."""
        setting = self.get(path)
        return whole(setting.value) if setting is not None else None

    def flag(self, path: str) -> bool | None:
        """Returns a bool; None where there is none, or "auto"."""
        setting = self.get(path)
        return truth(setting.value) if setting is not None else None

    @property
    def stage(self) -> int | None:
        """ZeRO's stage, 0 to 3; None where it is "auto" or cannot be read."""
        if self.by_accelerate:
            setting = self.get(_ZERO + "stage")
            return 2 if setting is None else _stage(setting.value)  # DeepSpeedPlugin's default
        zero = self._member("zero_optimization")
        if zero is None:
            return 0
        if isinstance(zero.node.value, bool):  # the oldest form
            return int(zero.node.value)
        setting = self.get(_ZERO + "stage")
        if setting is None or setting.auto:
            return 0 if zero.node.kind == "object" else None
        return _stage(setting.value)

    def offload(self, which: str) -> Setting | None:
        """Returns the setting that sends ``which`` ("offload_optimizer") to the host or a disk; None if none does."""
        setting = self.get(f"{_ZERO}{which}.device")
        if setting is not None:
            return setting if setting.value in ("cpu", "nvme") else None
        if self.by_accelerate:
            return None
        old = self._member(_ZERO + _DEPRECATED[which])
        return old if old is not None and truth(old.node.value) is True else None

    def offload_device(self, which: str) -> str:
        """Returns "cpu", "nvme" or "none"."""
        setting = self.offload(which)
        return "none" if setting is None else "nvme" if setting.value == "nvme" else "cpu"

    def _member(self, path: str) -> Setting | None:
        member: Member | None = self.document.at(path)
        return Setting(path, member.node, member.place) if member is not None else None


def _stage(value: Any) -> int | None:
    number = whole(value)
    return number if number in (0, 1, 2, 3) else None


def whole(value: Any) -> int | None:
    """Returns ``value`` as pydantic reads an int: 4, 4.0, "4", "4.0" and True are; 4.5 and "auto" are not."""
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value.strip())
        return int(match[1].replace("_", "")) if match is not None else None
    return None


def real(value: Any) -> float | None:
    """Returns ``value`` as a number; None for what is none."""
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def truth(value: Any) -> bool | None:
    """Returns ``value`` as pydantic reads a bool; None for what is none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        text = value.lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return None
