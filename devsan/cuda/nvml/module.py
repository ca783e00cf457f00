"""The module ``pynvml`` of the emulated GPUs, whether nvidia-ml-py is installed or not.

With a real driver nvidia-ml-py would show the GPUs of the machine, which torch.cuda does not show here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

import torch.cuda

from devsan.cuda.nvml.errors import CLASSES, NVMLError, codes, fail
from devsan.cuda.nvml.library import Library, functions
from devsan.cuda.patches import Patches

_NAME, _PACKAGE = "pynvml", "nvidia-ml-py"
_CONSTANTS = {
    "NVML_TEMPERATURE_GPU": 0, "NVML_CLOCK_GRAPHICS": 0, "NVML_CLOCK_SM": 1, "NVML_CLOCK_MEM": 2,
    "NVML_CLOCK_VIDEO": 3, "NVML_CLOCK_COUNT": 4, "NVML_PSTATE_0": 0, "NVML_COMPUTEMODE_DEFAULT": 0,
    "NVML_COMPUTEMODE_EXCLUSIVE_PROCESS": 3, "NVML_FEATURE_DISABLED": 0, "NVML_FEATURE_ENABLED": 1,
    "NVML_DEVICE_MIG_DISABLE": 0, "NVML_DEVICE_MIG_ENABLE": 1, "NVML_INIT_FLAG_NO_GPUS": 1,
    "NVML_AFFINITY_SCOPE_NODE": 0, "NVML_AFFINITY_SCOPE_SOCKET": 1, "nvmlMemory_v2": 0x02000028,
}  # fmt: skip


class Nvml(MetaPathFinder, Loader):
    """Makes ``import pynvml`` find the module, and importlib.metadata the package."""

    def __init__(self) -> None:
        self._module = _MODULE
        self._before: ModuleType | None = None

    def install(self, patches: Patches) -> dict[int, ModuleType]:
        """Puts the module in place, for torch.cuda as well, which looked for it while it was imported.

        Returns it by the ``id`` of the one that was there.
        """
        sys.meta_path.insert(0, self)
        self._before = sys.modules.pop(_NAME, None)
        patches.set(torch.cuda, _NAME, self._module)
        patches.set(torch.cuda, "_HAS_PYNVML", True)
        return {} if self._before is None else {id(self._before): self._module}

    def remove(self) -> None:
        """Takes it away. A second call does nothing."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            sys.modules.pop(_NAME, None)
            if self._before is not None:
                sys.modules[_NAME] = self._before
        LIBRARY.close()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, and nothing else."""
        return ModuleSpec(_NAME, self, origin="devsan") if fullname == _NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """It is there already."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterator[Distribution]:
        """nvidia-ml-py, for who asks for it by its name where it is not installed."""
        name = (getattr(context, "name", None) or "").lower().replace("_", "-")
        if context is not None and name == _PACKAGE and not any(True for _ in PathFinder.find_distributions(context)):
            yield _Package()


class _Package(Distribution):
    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {_PACKAGE}\nVersion: 0+devsan\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(path)


def _make(library: Library) -> ModuleType:
    module = ModuleType(_NAME, "NVML of the emulated GPUs.")
    vars(module).update(functions(library), **CLASSES, **codes(), **_CONSTANTS, NVMLError=NVMLError)
    vars(module)["__getattr__"] = _refusing
    return module


def _refusing(name: str) -> Callable[..., Any]:
    """What is not emulated fails as what a GPU does not support, which programs of NVML are prepared for."""
    if not name.startswith("nvml"):
        raise AttributeError(f"module '{_NAME}' has no attribute '{name}'")

    def refused(*args: object, **kwargs: object) -> Any:
        fail("NotSupported", f"devsan: {name} of NVML is not emulated; see docs/limits.md")

    return refused


LIBRARY = Library()
_MODULE = _make(LIBRARY)
