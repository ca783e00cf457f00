"""The structures that NVML fills in, as ``pynvml`` hands them out: attributes under the names of nvml.h."""

from __future__ import annotations

from dataclasses import dataclass

from devsan.profiles import DeviceSpec

_VENDOR = 0x10DE  # NVIDIA's number on PCI; the model's is not known


@dataclass(frozen=True)
class Memory:
    """``nvmlMemory_t``, bytes. Nothing is reserved by the driver: all that is not free is somebody's."""

    total: int
    free: int
    used: int
    version: int = 0
    reserved: int = 0


@dataclass(frozen=True)
class Utilization:
    """``nvmlUtilization_t``, per cent."""

    gpu: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Process:
    """``nvmlProcessInfo_t``; outside of MIG the instances are none."""

    pid: int
    usedGpuMemory: int
    gpuInstanceId: int = 0xFFFFFFFF
    computeInstanceId: int = 0xFFFFFFFF


@dataclass(frozen=True)
class Pci:
    """``nvmlPciInfo_t``."""

    domain: int
    bus: int
    device: int
    busId: str
    busIdLegacy: str
    pciDeviceId: int = _VENDOR
    pciSubSystemId: int = 0

    @classmethod
    def of(cls, spec: DeviceSpec) -> Pci:
        """Where torch's properties say that the GPU is."""
        domain, bus, device = spec.pci_domain_id, spec.pci_bus_id, spec.pci_device_id
        place = f"{bus:02X}:{device:02X}.0"
        return cls(domain, bus, device, f"{domain:08X}:{place}", f"{domain:04X}:{place}")
