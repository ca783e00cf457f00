"""Changes to modules that a program may import after the emulation has started, or never."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]


class AfterImport(MetaPathFinder):
    """Changes modules once they have been executed; those that are there already, at once.

    Args:
        changes: by the name of the module.
    """

    def __init__(self, changes: dict[str, Change]) -> None:
        self._changes = changes
        self._searching: set[str] = set()

    def install(self) -> None:
        """Begins to watch imports. A second call does nothing."""
        if self in sys.meta_path:
            return
        for name, change in self._changes.items():
            module = sys.modules.get(name)
            if module is None:
                continue
            if getattr(module.__spec__, "_initializing", False):
                _change_when_executed(module, change)  # its own import of torch began this emulation
            else:
                change(module)
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Watches no more. A second call does nothing."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that changes the module afterwards."""
        if fullname not in self._changes or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ChangingLoader(spec.loader, self._changes[fullname])
        return spec


def _change_when_executed(module: ModuleType, change: Change) -> None:
    """Changes a module that is being imported when it is first asked for something behind its import."""
    kind = type(module)

    class Executing(kind):  # type: ignore[misc,valid-type]
        def __getattribute__(self, name: str) -> Any:
            spec = kind.__getattribute__(self, "__spec__")
            if not getattr(spec, "_initializing", False):
                module.__class__ = kind
                change(module)
                return getattr(module, name)
            return kind.__getattribute__(self, name)

    module.__class__ = Executing


class _ChangingLoader(Loader):
    """Another loader, and a change to the module after it. Everything else that it can do stays visible."""

    def __init__(self, loader: Any, change: Change) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
