"""One GPU that holds everything, for the reference runs that need it (NOTE [The reference] in ``reference``)."""

from __future__ import annotations

from typing import Any

_mode: Any = None


def stay_on_first() -> None:
    """A move to another GPU gives the tensor itself, as a move to where it is does: a parameter stays one."""
    import torch

    kind: Any = torch.Tensor
    to, cuda = kind.to, kind.cuda

    def moved(tensor: Any, *args: Any, **named: Any) -> Any:
        if "device" in named:
            named["device"] = _first(named["device"])
        return to(tensor, *(_first(each) for each in args[:1]), *args[1:], **named)

    def moved_to_gpu(tensor: Any, *args: Any, **named: Any) -> Any:
        if "device" in named:
            named["device"] = _first(named["device"])
        return cuda(tensor, *(_first(each) for each in args[:1]), *args[1:], **named)

    moved.__name__, moved_to_gpu.__name__ = "to", "cuda"  # by which those who watch calls know them
    kind.to, kind.cuda = moved, moved_to_gpu


def _first(device: Any) -> Any:
    import torch

    if isinstance(device, (str, torch.device)) and str(device).startswith("cuda"):
        return torch.device("cuda", 0)
    return 0 if isinstance(device, int) and not isinstance(device, bool) else device


def begin_on_first() -> None:
    """What names no device is made on the GPU."""
    import torch

    torch.set_default_device("cuda:0")


def give_values() -> None:
    """What would be made without values is made on the host, and what would lose them keeps them."""
    global _mode
    import torch
    from torch.overrides import TorchFunctionMode

    class WithValues(TorchFunctionMode):  # type: ignore[misc]  # Any where torch is not installed
        """Takes "meta" out of each call."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            there = args[0].device if args and isinstance(args[0], torch.Tensor) else "cpu"
            if _is_meta(named.get("device")):
                named = {**named, "device": there}
            if any(map(_is_meta, args[1:])):
                args = (args[0], *(there if _is_meta(each) else each for each in args[1:]))
            return function(*args, **named)

    _mode = WithValues()
    _mode.__enter__()


def _is_meta(value: Any) -> bool:
    import torch

    return isinstance(value, (str, torch.device)) and str(value) == "meta"
