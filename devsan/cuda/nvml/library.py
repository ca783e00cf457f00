"""The functions of NVML. They see every GPU of the machine, ``CUDA_VISIBLE_DEVICES`` or not, and make no context."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from devsan import _core
from devsan.cuda.build import CudaBuild
from devsan.cuda.nvml.answers import Memory, Pci, Process, Utilization
from devsan.cuda.nvml.errors import error_string, fail
from devsan.profiles import DeviceSpec

# Nobody measures an emulated GPU: it is idle.
_TEMPERATURE = 30  # degrees Celsius
_POWER = 50_000  # mW
_MEMORY_CLOCK, _CLOCKS = 2, 4


@dataclass(frozen=True)
class Handle:
    """A GPU of the machine."""

    index: int


class Library:
    """NVML, between ``nvmlInit`` and ``nvmlShutdown``. Every method is the function of its name.

    One for the process: a program may keep what it initialized from one emulation to the next.
    """

    def __init__(self) -> None:
        self._machine: Sequence[DeviceSpec] = ()
        self._users = 0

    def open(self, machine: Sequence[DeviceSpec], build: CudaBuild, ordinal_of: Callable[[int], int | None]) -> None:
        """Begins with an emulation.

        Args:
            machine: every GPU of the machine.
            build: whose driver is answered for.
            ordinal_of: the number that CUDA has for a GPU of the machine, None for one that is not visible.
        """
        self._machine, self._build, self._ordinal_of = machine, build, ordinal_of

    def close(self) -> None:
        """Ends with the emulation: whoever kept the module is told that there is no driver."""
        self._machine = ()

    def expect_initialized(self) -> None:
        """Raises NVML's error before ``nvmlInit``, and where nothing is emulated."""
        if self._users == 0 or not self._machine:
            fail("Uninitialized")

    def nvmlInit(self) -> None:
        if not self._machine:
            fail("LibraryNotFound")
        self._users += 1

    def nvmlInitWithFlags(self, flags: int) -> None:
        self.nvmlInit()

    def nvmlShutdown(self) -> None:
        self.expect_initialized()
        self._users -= 1

    def nvmlErrorString(self, result: int) -> str:
        return error_string(result)

    def nvmlSystemGetDriverVersion(self) -> str:
        return self._build.driver

    def nvmlSystemGetNVMLVersion(self) -> str:
        return f"{self._build.cuda.partition('.')[0]}.{self._build.driver}"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return int(torch._C._cuda_getCompiledVersion())

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return self.nvmlSystemGetCudaDriverVersion()

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                return file.read().partition("\0")[0]
        except OSError:
            fail("NotFound")

    def nvmlDeviceGetCount(self) -> int:
        return len(self._machine)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Handle:
        if not 0 <= index < len(self._machine):
            fail("InvalidArgument")
        return Handle(index)

    def nvmlDeviceGetHandleByUUID(self, uuid: str | bytes) -> Handle:
        return self._find(uuid, [f"GPU-{spec.uuid}" for spec in self._machine])

    def nvmlDeviceGetHandleByPciBusId(self, pciBusId: str | bytes) -> Handle:
        return self._find(pciBusId, [Pci.of(spec).busId for spec in self._machine])

    def nvmlDeviceGetIndex(self, handle: Handle) -> int:
        return handle.index

    def nvmlDeviceGetMinorNumber(self, handle: Handle) -> int:
        return handle.index

    def nvmlDeviceGetName(self, handle: Handle) -> str:
        return self._spec(handle).name

    def nvmlDeviceGetUUID(self, handle: Handle) -> str:
        return f"GPU-{self._spec(handle).uuid}"

    def nvmlDeviceGetCudaComputeCapability(self, handle: Handle) -> tuple[int, int]:
        spec = self._spec(handle)
        return spec.major, spec.minor

    def nvmlDeviceGetPciInfo(self, handle: Handle) -> Pci:
        return Pci.of(self._spec(handle))

    def nvmlDeviceGetPciInfo_v3(self, handle: Handle) -> Pci:
        return Pci.of(self._spec(handle))

    def nvmlDeviceGetMemoryInfo(self, handle: Handle, version: int | None = None) -> Memory:
        spec = self._spec(handle)
        used = min(spec.total_memory, spec.used_memory + sum(use for _, use in self._uses(handle)))
        return Memory(spec.total_memory, spec.total_memory - used, used, version or 0)

    def nvmlDeviceGetMemoryBusWidth(self, device: Handle) -> int:
        return self._spec(device).memory_bus_width

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[Process]:
        return [Process(process, use) for process, use in self._uses(handle)]

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Handle) -> list[Process]:
        return self.nvmlDeviceGetComputeRunningProcesses(handle)

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Handle) -> list[Process]:
        return []

    def nvmlDeviceGetUtilizationRates(self, handle: Handle) -> Utilization:
        return Utilization()

    def nvmlDeviceGetTemperature(self, handle: Handle, sensor: int) -> int:
        return _TEMPERATURE

    def nvmlDeviceGetPowerUsage(self, handle: Handle) -> int:
        return _POWER

    def nvmlDeviceGetClockInfo(self, handle: Handle, type: int) -> int:
        if not 0 <= type < _CLOCKS:
            fail("InvalidArgument")
        spec = self._spec(handle)
        return (spec.memory_clock_rate if type == _MEMORY_CLOCK else spec.clock_rate) // 1000

    def nvmlDeviceGetMaxClockInfo(self, handle: Handle, type: int) -> int:
        return self.nvmlDeviceGetClockInfo(handle, type)

    def nvmlDeviceGetPerformanceState(self, handle: Handle) -> int:
        return 0

    def nvmlDeviceGetComputeMode(self, handle: Handle) -> int:
        return 0

    def nvmlDeviceGetPersistenceMode(self, handle: Handle) -> int:
        return 1

    def nvmlDeviceGetMigMode(self, device: Handle) -> list[int]:
        return [0, 0]

    def nvmlDeviceIsMigDeviceHandle(self, device: Handle) -> int:
        return 0

    def nvmlDeviceGetCpuAffinity(self, handle: Handle, cpuSetSize: int) -> list[int]:
        """Every GPU is near all processors that this process may use, a bit each in words of 64."""
        words = [0] * cpuSetSize
        for processor in os.sched_getaffinity(0):
            if processor // 64 < cpuSetSize:
                words[processor // 64] |= 1 << processor % 64
        return words

    def nvmlDeviceGetCpuAffinityWithinScope(self, handle: Handle, cpuSetSize: int, scope: int) -> list[int]:
        return self.nvmlDeviceGetCpuAffinity(handle, cpuSetSize)

    def nvmlDeviceSetCpuAffinity(self, handle: Handle) -> None:
        """Changes nothing: the processors that the thread may use are near already."""

    def nvmlDeviceClearCpuAffinity(self, handle: Handle) -> None:
        """Changes nothing, too."""

    def _spec(self, handle: Handle) -> DeviceSpec:
        if not isinstance(handle, Handle):
            fail("InvalidArgument")
        return self._machine[handle.index]

    def _find(self, wanted: str | bytes, names: Sequence[str]) -> Handle:
        text = (wanted.decode() if isinstance(wanted, bytes) else wanted).lower()
        for index, name in enumerate(names):
            if name.lower() == text:
                return Handle(index)
        fail("NotFound")

    def _uses(self, handle: Handle) -> list[tuple[int, int]]:
        """The processes of the job that use the GPU; without a job this one, from its first allocation there on."""
        spec = self._spec(handle)
        shared: list[tuple[int, int]] = _core.gpu_processes(spec.uuid)
        ordinal = self._ordinal_of(handle.index)
        if shared or ordinal is None or not torch.cuda.is_initialized() or _core.memory_now()[ordinal][3] == 0:
            return shared
        free, total = _core.memory_info(ordinal)
        return [(os.getpid(), total - free - spec.used_memory)]


def functions(library: Library) -> dict[str, Callable[..., Any]]:
    """The functions of a module, by their names. All but the first ones want ``nvmlInit`` before."""
    found = {name: getattr(library, name) for name in dir(library) if name.startswith("nvml")}
    free = ("nvmlInit", "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString")
    return {name: function if name in free else _after_init(library, function) for name, function in found.items()}


def _after_init(library: Library, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def initialized(*args: Any, **kwargs: Any) -> Any:
        library.expect_initialized()
        return function(*args, **kwargs)

    return initialized
