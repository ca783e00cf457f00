"""Attributes that the emulation replaces, each remembered and put back."""

from __future__ import annotations

from typing import Any

_MISSING: Any = object()


class Patches:
    """Replaces attributes of modules and classes, and restores every one of them by `undo`."""

    def __init__(self) -> None:
        self._originals: dict[tuple[int, str], tuple[Any, str, Any]] = {}  # in the order of replacement

    def set(self, target: Any, name: str, value: Any) -> Any:
        """Sets ``target.name``. Returns what it was, or None if it was not there.

        ``target`` is a module or a class; what a class inherits is not touched.
        """
        original = self.remember(target, name)
        setattr(target, name, value)
        return None if original is _MISSING else original

    def remember(self, target: Any, name: str) -> Any:
        """Makes `undo` put the present value of ``target.name`` back, whoever changes it until then."""
        original = vars(target).get(name, _MISSING)
        self._originals.setdefault((id(target), name), (target, name, original))
        return original

    def undo(self) -> None:
        """Restores everything, last first. A second call does nothing."""
        while self._originals:
            _, (target, name, original) = self._originals.popitem()
            if original is not _MISSING:
                setattr(target, name, original)
            elif name in vars(target):
                delattr(target, name)
