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


def keep_values(makes_them: bool = False) -> None:
    """What would lose its values keeps them.

    A loader makes a model without values, asks whether it has any, and fills it: that must stay as it is. Only where
    the program itself reads what never had values, they have to be made. Filling what would have none draws no random
    numbers then: the program would compute others after it.

    Args:
        makes_them: what would be made without values is made on the host.
    """
    global _mode
    import torch
    from torch.overrides import TorchFunctionMode

    class WithValues(TorchFunctionMode):  # type: ignore[misc]  # Any where torch is not installed
        """Takes "meta" out of each call."""

        def __init__(self) -> None:
            super().__init__()
            self._given: dict[int, Any] = {}  # storages, alive so that no other gets the address of one

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            there = args[0].device if args and isinstance(args[0], torch.Tensor) else "cpu"
            is_move = function.__name__ == "to"
            if not makes_them and not is_move:
                return function(*args, **named)
            if _is_meta(named.get("device")):
                named = {**named, "device": there}
                return function(*args, **named) if is_move else self._made(function, args, named)
            if any(map(_is_meta, args[1:])):
                args = (args[0], *(there if _is_meta(each) else each for each in args[1:]))
            written = args[0] if args else named.get("tensor")  # as torch.nn.init calls it
            if function.__name__.endswith("_") and self._is_given(written):
                with torch.random.fork_rng(devices=[]):
                    return function(*args, **named)
            return function(*args, **named)

        def _made(self, function: Any, args: Any, named: Any) -> Any:
            with torch.random.fork_rng(devices=[]):
                made = function(*args, **named)
            if _has_storage(made):
                storage = made.untyped_storage()
                self._given[storage._cdata] = storage
            return made

        def _is_given(self, value: Any) -> bool:
            return _has_storage(value) and value.untyped_storage()._cdata in self._given

    _mode = WithValues()
    _mode.__enter__()


def _is_meta(value: Any) -> bool:
    import torch

    return isinstance(value, (str, torch.device)) and str(value) == "meta"


def _has_storage(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.layout == torch.strided
