"""DevSan's core, as core/bindings gives it to Python. Private: devsan's Python modules are its interface.

A device is an ordinal among the GPUs that are shown. An ordinal that is not there raises torch.AcceleratorError in
CUDA's words, and memory that is not there torch.OutOfMemoryError in torch's.
"""

from collections.abc import Sequence
from typing import Any

class DeviceSpec:
    """core/model/device_spec.h."""

    name: str
    profile: str
    uuid: str
    total_memory: int
    busy: int
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    l2_cache_size: int
    memory_bus_width: int
    memory_clock_rate: int
    clock_rate: int
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int
    is_integrated: bool
    is_multi_gpu_board: bool

class Operand:
    """One operand of a refused call."""

    name: str
    device: str
    dtype: str
    shape: Sequence[int]

class Refusal:
    """The call that DevSan refused last, in torch's words."""

    op: str
    message: str
    operands: Sequence[Operand]

def start(devices: Sequence[DeviceSpec]) -> None:
    """Makes torch's C++ see these GPUs. Raises RuntimeError where the installed torch is not as expected."""

def stop() -> None:
    """Undoes `start`."""

def settle() -> None:
    """Ends what the autograd threads still hold. For the end of the process."""

def last_refusal() -> Refusal | None:
    """The last refusal of any thread of this process."""

# devices (cuda.cpp, forks.cpp)
def show_devices(devices: Sequence[DeviceSpec]) -> None:
    """Replaces the GPUs by new ones, with empty memory; none is allowed."""

def device_count() -> int: ...
def current_device() -> int: ...
def set_device(device: int) -> None: ...
def check_device(device: int) -> None: ...
def default_generator(device: int) -> Any: ...
def require_lazy_init() -> None:
    """Makes torch's C++ call ``torch.cuda._lazy_init`` again at the next use of CUDA."""

def use_driver() -> None:
    """From now on a forked child cannot use CUDA."""

def leave_driver() -> None:
    """Undoes `use_driver`, in a child too."""

def is_in_bad_fork() -> bool: ...

# streams (streams.cpp); a stream is the number that torch.Stream calls stream_id
def current_stream(device: int) -> int: ...
def set_stream(stream: int, device: int) -> None: ...
def current_raw_stream(device: int) -> int: ...
def stream_handle(stream: int) -> int: ...
def stream_of_handle(handle: int) -> int: ...
def stream_priority(stream: int) -> int: ...
def elapsed_time(start: Any, end: Any) -> float:
    """Milliseconds between two recorded events."""

# memory (memory.cpp, memory_history.cpp, host_memory.cpp); sizes are bytes, dictionaries have torch's layout
def memory_stats(device: int) -> dict[str, Any]: ...
def reset_peak_memory_stats(device: int) -> None: ...
def reset_accumulated_memory_stats(device: int) -> None: ...
def empty_cache() -> None: ...
def memory_info(device: int) -> tuple[int, int]:
    """Free and total bytes, as cudaMemGetInfo."""

def memory_fraction(device: int) -> float: ...
def set_memory_fraction(fraction: float, device: int) -> None: ...
def raw_allocate(bytes: int, stream: int) -> int:
    """An address on the current device, which nothing is behind; 0 for 0 bytes."""

def raw_free(address: int) -> None: ...
def memory_segments(device: int) -> list[dict[str, Any]]: ...
def memory_trace(device: int) -> list[dict[str, Any]]: ...
def record_memory_history(enabled: bool, max_entries: int) -> None: ...
def is_memory_history_recorded() -> bool: ...
def allocator_settings() -> dict[str, Any]: ...
def update_allocator_settings(text: str) -> None:
    """Reads text as PYTORCH_CUDA_ALLOC_CONF; raises ValueError in torch's words."""

def host_memory_stats() -> dict[str, Any]: ...
def reset_peak_host_memory_stats() -> None: ...
def reset_accumulated_host_memory_stats() -> None: ...
def host_allocator() -> int: ...

# storages (storages.cpp), each a torch.UntypedStorage
def new_storage(bytes: int, device: int) -> Any: ...
def resize_storage(storage: Any, bytes: int) -> None: ...
def host_storage(storage: Any) -> Any:
    """The CPU storage over the same bytes."""

def wrap_storage(host: Any, device: int) -> Any:
    """A storage on ``device`` over the bytes of a CPU storage, charged to nobody."""

def move_storage(storage: Any, home: Any) -> None:
    """Moves the bytes of ``storage`` into those of the CPU storage ``home``, which it keeps alive."""

def storage_home(storage: Any) -> Any | None:
    """The CPU storage that the bytes were moved to, if they were."""

def pin(address: int, bytes: int) -> None: ...
def unpin(address: int) -> None: ...
