"""Where a tensor is and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """Where a tensor is and what it is made of; dtype and shape are None when only the device can be told.

    Attributes:
        device: "cuda:1", or "cuda" when the index is not known.
        dtype: torch's name without "torch.": "float32".
        shape: the sizes.
    """

    device: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.device}  {self.kind}" if self.dtype else self.device

    @property
    def kind(self) -> str:
        """dtype and shape in one word: "float32[30,256]"."""
        if self.dtype is None:
            return ""
        return self.dtype + ("" if self.shape is None else f"[{','.join(map(str, self.shape))}]")

    def is_on(self, device: str) -> bool:
        """Returns whether this is ``device``, where "cuda" stands for any of them."""
        return self.device == device or self.device.startswith(device + ":") or device.startswith(self.device + ":")
