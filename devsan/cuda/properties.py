"""What ``torch.cuda.get_device_properties`` returns."""

from __future__ import annotations

from uuid import UUID

from devsan.profiles import DeviceSpec

_MIB = 1024 * 1024


class DeviceUuid:
    """``torch._C._CUuuid``: prints as a UUID without ``GPU-``, and gives its 16 bytes."""

    def __init__(self, text: str) -> None:
        self._uuid = UUID(text)

    @property
    def bytes(self) -> list[int]:
        """The 16 bytes."""
        return list(self._uuid.bytes)

    def __str__(self) -> str:
        return str(self._uuid)


class DeviceProperties:
    """``torch._C._CudaDeviceProperties``: the members that torch/csrc/cuda/Module.cpp binds, read only."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    L2_cache_size: int
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int
    uuid: DeviceUuid

    _HIDDEN = frozenset({"profile", "used_memory", "uuid"})

    def __init__(self, spec: DeviceSpec) -> None:
        for field in spec.__dataclass_fields__:
            if field not in self._HIDDEN:
                object.__setattr__(self, field, getattr(spec, field))
        object.__setattr__(self, "uuid", DeviceUuid(spec.uuid))
        object.__setattr__(self, "gcnArchName", spec.name)  # a CUDA build shows the name here

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"property of '_CudaDeviceProperties' object has no setter: {name}")

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // _MIB}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // _MIB}MB)"
        )


DeviceProperties.__name__ = DeviceProperties.__qualname__ = "_CudaDeviceProperties"
