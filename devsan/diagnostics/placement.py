"""Where a tensor is and what it is made of, and the words for who placed it there."""

from __future__ import annotations

from dataclasses import dataclass

from devsan.diagnostics.messages import Message, message


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


def owner_text(name: str, mechanism: str = "", holder: str = "") -> str:
    """Returns the words for an owner: "this program", "accelerate: AlignDevicesHook of model.layers.17".

    Args:
        name: of the owner; "" where it is not known.
        mechanism: what of the owner did it.
        holder: the module that has the hook, if it was one.
    """
    if name == "program":
        return message("this program")
    if not name or mechanism in ("", name):
        return name
    return f"{name}: {mechanism}" + (f" of {holder}" if mechanism.endswith("Hook") and holder else "")


def placed_text(device: str, owner: str = "", followed: str = "") -> Message:
    """Returns who placed something: "placed on cuda:1 by accelerate: AlignDevicesHook".

    Args:
        device: where it is.
        owner: as ``owner_text`` calls it; "" where it is not known.
        followed: the tensor that brought a computed result there, where it has a name.
    """
    if followed and owner:
        return message("placed on {device} with {name} by {owner}", device=device, name=followed, owner=owner)
    if followed:
        return message("placed on {device} with {name}", device=device, name=followed)
    return message("placed on {device} by {owner}", device=device, owner=owner) if owner else message(
        "placed on {device}", device=device)  # fmt: skip
