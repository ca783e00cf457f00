"""Devices and the driver: which GPUs there are, which is current, and what a fork does to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.cuda.properties import DeviceProperties
from devsan.cuda.visible_devices import VARIABLE, visible_devices
from devsan.profiles import DeviceSpec


class Devices:
    """The ``torch._C._cuda_*`` functions of torch/csrc/cuda/Module.cpp that manage devices.

    Args:
        machine: every GPU of the emulated machine, before ``CUDA_VISIBLE_DEVICES``.
        capabilities: what torch has kernels for, each as ten times its major number and its minor one.
        patches: takes what ``torch._C._cuda_init`` puts into ``torch.cuda``.
        on_use: called when this process begins to use its GPUs, with the ordinals of those that it sees.
    """

    def __init__(
        self,
        machine: Sequence[DeviceSpec],
        capabilities: Sequence[int],
        patches: Patches,
        on_use: Callable[[Sequence[int]], None],
    ) -> None:
        self._machine = machine
        self._capabilities = capabilities
        self._patches = patches
        self._on_use = on_use
        self._is_driver_open = False
        self._sync_debug_mode = 0
        self._shown: list[int] | None = None
        self._show()

    def names(self) -> dict[str, Callable[..., Any]]:
        """The functions, by their name in ``torch._C``."""
        return {
            "_cuda_init": self._init,
            "_cuda_isInBadFork": _core.is_in_bad_fork,
            "_cuda_getDeviceCount": self._count,
            "_cuda_getDevice": self._current,
            "_cuda_setDevice": self._set,
            "_cuda_exchangeDevice": self._exchange,
            "_cuda_maybeExchangeDevice": self._maybe_exchange,
            "_cuda_canDeviceAccessPeer": self._can_access_peer,
            "_cuda_hasPrimaryContext": lambda device: torch.cuda.is_initialized() and device < _core.device_count(),
            "_cuda_synchronize": _core.synchronize,
            "_cuda_sleep": self._sleep,
            "_cuda_getArchFlags": lambda: " ".join(f"sm_{capability}" for capability in self._capabilities),
            "_cuda_get_sync_debug_mode": lambda: self._sync_debug_mode,
            "_cuda_set_sync_debug_mode": self._set_sync_debug_mode,
        }

    def machine_size(self) -> int:
        """As NVML counts: all GPUs of the machine, visible or not. Unlike CUDA it leaves a fork unharmed."""
        return len(self._machine)

    def machine_uuids(self) -> list[str]:
        """As NVML names them."""
        return [f"GPU-{spec.uuid}" for spec in self._machine]

    def ordinal_of(self, index: int) -> int | None:
        """CUDA's number for a GPU of the machine; None for one that is not visible."""
        shown = self._shown or []
        return shown.index(index) if index in shown else None

    def _show(self) -> None:
        visible = visible_devices(os.environ.get(VARIABLE), self.machine_uuids())
        if visible != self._shown:
            self._shown = visible
            _core.show_devices([native_spec(self._machine[ordinal]) for ordinal in visible])

    def _open_driver(self) -> None:
        """As cuInit: reads ``CUDA_VISIBLE_DEVICES`` once and for all, and from now on a fork is a bad one."""
        if not self._is_driver_open:
            self._show()
            self._is_driver_open = True
            _core.use_driver()
            self._on_use(self._shown or ())

    def _init(self) -> None:
        self._open_driver()
        if _core.device_count() == 0:
            raise RuntimeError("No CUDA GPUs are available")  # c10/cuda/CUDAFunctions.cpp
        shown = [self._machine[ordinal] for ordinal in self._shown or ()]
        properties = [DeviceProperties(spec) for spec in shown]
        generators = tuple(_core.default_generator(device) for device in range(len(shown)))
        self._patches.set(torch.cuda, "default_generators", generators)
        self._patches.set(torch.cuda, "_get_device_properties", properties.__getitem__)

    def _count(self) -> int:
        self._open_driver()
        return _core.device_count()

    def _current(self) -> int:
        torch.cuda._lazy_init()
        return _core.current_device()

    def _set(self, device: int) -> None:
        torch.cuda._lazy_init()
        _core.set_device(device)

    def _exchange(self, device: int) -> int:
        if device < 0:
            return -1
        torch.cuda._lazy_init()
        before = _core.current_device()
        if before != device:
            _core.set_device(device)
        return before

    def _maybe_exchange(self, device: int) -> int:
        """Every device has a context here. A function of its own: dynamo tells the two apart."""
        return self._exchange(device)

    def _can_access_peer(self, device: int, peer: int) -> bool:
        torch.cuda._lazy_init()
        _core.check_device(device)
        _core.check_device(peer)
        return device != peer  # at::cuda::canDeviceAccessPeer; NVLink or not, servers allow it

    def _sleep(self, cycles: int) -> None:
        if not isinstance(cycles, int):
            raise TypeError("torch.cuda._sleep(): expected 'int'")
        torch.cuda._lazy_init()
        clock_rate = torch.cuda.get_device_properties(_core.current_device()).clock_rate  # kHz
        time.sleep(cycles / (clock_rate * 1000))

    def _set_sync_debug_mode(self, mode: int) -> None:
        if mode not in (0, 1, 2):
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        self._sync_debug_mode = mode


def native_spec(spec: DeviceSpec) -> _core.DeviceSpec:
    """Returns ``spec`` as the core takes it."""
    native = _core.DeviceSpec()
    for field in spec.__dataclass_fields__:
        setattr(native, field.lower(), getattr(spec, field))
    return native
