"""What is there: the machine, its driver and GPUs, torch, the frameworks and the variables that steer them."""

from __future__ import annotations

import getpass
import os
import platform
import re
import resource
import socket
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from devsan.cuda.visible_devices import visible_devices
from devsan.doctor.driver import Driver, Gpu, ask_driver
from devsan.doctor.installed import Installed
from devsan.doctor.packages import Unmet, unmet, versions
from devsan.doctor.torch_facts import Torch, ask_torch, read_torch

DRIVER_SECONDS = 10.0
TORCH_SECONDS = 60.0  # on a cold network file system an import takes half a minute
FAST_SECONDS = 1.2

_STEERING = re.compile(
    r"(CUDA|NCCL|GLOO|TORCH|PYTORCH|ACCELERATE|DEEPSPEED|DS|FSDP|OMPI_COMM_WORLD|PET|NVIDIA|HIP|ROCR|TRITON)_.*"
    r"|MASTER_(ADDR|PORT)|(LOCAL_|GROUP_)?(RANK|WORLD_SIZE)|ROLE_RANK|OMP_NUM_THREADS|LD_(LIBRARY_PATH|PRELOAD)"
    r"|SLURM_(JOB_ID|NTASKS|NTASKS_PER_NODE|NNODES|PROCID|LOCALID|GPUS.*|STEP_GPUS)|CUDA|DEVSAN_OPTIONS"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|KEY")


@dataclass(frozen=True)
class System:
    """The machine and the Python that runs the doctor.

    Attributes:
        memory: of the host, in MiB; 0 where it is not known.
        memlock: what may be pinned, in KiB; -1 for no limit. CUDA's own pinned memory does not count.
    """

    name: str
    libc: str
    python: str
    executable: str
    directory: str
    host: str
    user: str
    home: str
    processors: int
    memory: int
    memlock: int


@dataclass(frozen=True)
class Facts:
    """All of it.

    Attributes:
        packages: installed frameworks and their versions.
        unmet: what they need and do not have.
        variables: those that steer a job.
        interfaces: of the network, by name.
        visible: nvidia-smi's numbers of the GPUs that a program sees, in its order: cuda:0, cuda:1, ...
        visible_text: CUDA_VISIBLE_DEVICES of the job; None where it is not set.
        fast: whether only what is quick was asked.
        installed: what is installed, and what it defines; None where that was not asked.
        iommu: whether the kernel has one on, which copies between GPUs do not always survive.
    """

    system: System
    driver: Driver
    torch: Torch
    packages: Mapping[str, str] = field(default_factory=dict)
    unmet: tuple[Unmet, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    interfaces: tuple[str, ...] = ()
    visible: tuple[int, ...] = ()
    visible_text: str | None = None
    fast: bool = False
    iommu: bool = False
    installed: Installed | None = None

    def gpu(self, logical: int) -> Gpu | None:
        """Returns the GPU that a program calls cuda:``logical``."""
        number = self.visible[logical] if logical < len(self.visible) else -1
        return next((gpu for gpu in self.driver.gpus if gpu.index == number), None)

    def visible_gpus(self) -> list[Gpu]:
        """Returns the GPUs that a program sees, in its order."""
        return [gpu for logical in range(len(self.visible)) if (gpu := self.gpu(logical)) is not None]

    def version(self, name: str) -> str:
        """Returns the version of a package, "" where it is not installed."""
        return self.torch.version if name == "torch" and self.torch.version else self.packages.get(name, "")


def gather(environment: Mapping[str, str], fast: bool = False) -> Facts:
    """Asks for all of it, at the same time.

    Args:
        environment: of the job: that of the doctor, and what the launch command sets.
        fast: torch is not imported, and the driver has a second.
    """
    with ThreadPoolExecutor(max_workers=6) as executor:
        torch = None if fast else executor.submit(ask_torch, TORCH_SECONDS)
        driver = executor.submit(ask_driver, executor, FAST_SECONDS if fast else DRIVER_SECONDS, not fast)
        packages, missing = versions(), unmet()
        found = driver.result()
        answered = torch.result() if torch is not None else read_torch()
    text = environment.get("CUDA_VISIBLE_DEVICES")
    return Facts(
        _system(), found, answered, packages, missing, _variables(environment), _interfaces(),
        tuple(visible_numbers(text, found, environment)), text, fast, _iommu(),
        Installed(),
    )  # fmt: skip


def nothing(environment: Mapping[str, str], elsewhere: bool = False) -> Facts:
    """Returns the facts of a machine of which nothing was asked: for checking files alone.

    Args:
        environment: of the job.
        elsewhere: the job runs on another machine, so what is installed here is not its own.
    """
    return Facts(_system(), Driver(), Torch("unasked"), variables=_variables(environment),
                 visible_text=environment.get("CUDA_VISIBLE_DEVICES"), fast=True,
                 installed=None if elsewhere else Installed())  # fmt: skip


def visible_numbers(text: str | None, driver: Driver, environment: Mapping[str, str]) -> list[int]:
    """Returns nvidia-smi's numbers of the GPUs that a program sees.

    CUDA numbers GPUs by speed unless it is told to go by the bus: then its numbers are nvidia-smi's.
    """
    ordered = list(driver.gpus)
    if environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        ordered.sort(key=lambda gpu: -_capability(gpu))  # stable: GPUs of one kind stay in the order of the bus
    chosen = visible_devices(text, [gpu.uuid for gpu in ordered])
    return [ordered[number].index for number in chosen]


def _capability(gpu: Gpu) -> float:
    return float(gpu.capability) if gpu.capability else 0.0


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: environment[name]
        for name in sorted(environment)
        if _STEERING.fullmatch(name) and not _SECRET.search(name)
    }


def _interfaces() -> tuple[str, ...]:
    try:
        return tuple(sorted(name for _, name in socket.if_nameindex()))
    except OSError:
        return ()


def _iommu() -> bool:
    try:
        return any(os.scandir("/sys/class/iommu"))
    except OSError:
        return False


def _system() -> System:
    libc = " ".join(platform.libc_ver()).strip()
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may run as a number without a name
        user = ""
    try:
        directory = os.getcwd()
    except OSError:  # it was removed meanwhile
        directory = ""
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        pages = size = 0
    return System(
        f"{platform.system()} {platform.release()} {platform.machine()}", libc, platform.python_version(),
        sys.executable or "", directory, platform.node(), user, str(Path.home()) if "HOME" in os.environ else "",
        os.cpu_count() or 0, pages * size >> 20, _memlock(),
    )  # fmt: skip


def _memlock() -> int:
    try:
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        return -1 if limit == resource.RLIM_INFINITY else limit >> 10
    except (ImportError, OSError, ValueError):
        return -1
