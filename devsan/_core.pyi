"""DevSan's core, as core/bindings gives it to Python. Private: devsan's Python modules are its interface.

A device is an ordinal among the GPUs that are shown. An ordinal that is not there raises torch.AcceleratorError in
CUDA's words, and memory that is not there torch.OutOfMemoryError in torch's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devsan._core_records import *  # noqa: F403
from devsan._core_records import DeviceSpec, Facts, Finding, HeldMemory, HolderKind, PeakMemory, RankFacts, RankFinding
from devsan.diagnostics.messages import Message

class RefusedOperand:
    """One operand of a refused call."""

    name: str
    device: str
    dtype: str
    shape: Sequence[int]
    storage: int
    origin: tuple[int, str]

class MetaMix:
    """A real result of an operator that had an operand without elements, on the meta device."""

    op: str
    operand: str
    site: str
    calls: int

def meta_mixes() -> list[MetaMix]:
    """What was noticed, in the order of first calls."""

def forget_meta_mixes() -> None: ...

class Refusal:
    """The call that DevSan refused last, in torch's words."""

    op: str
    message: str
    operands: Sequence[RefusedOperand]
    number: int

def plan_blocks(
    blocks: Sequence[tuple[int, int, int, int, int, int, bool]],
    edges: Sequence[tuple[int, int, int]],
    budgets: Sequence[int],
    trains: bool,
    keeps_gradients: bool,
) -> tuple[list[int], list[int], int] | None:
    """The best placement (core/plan/solve.h): by block its GPU, by GPU its peak, the bytes between GPUs."""

def share_memory(path: str, node: int) -> None:
    """GPUs made from here on share their memory with processes that name the same file and node; "" is with none."""

def show_memory(path: str) -> None:
    """The GPUs there are show what they hold in a new file, until "" is given. NOTE [Gauges] in core/memory/gauges.h

    Raises RuntimeError where it cannot be made."""

def count_step() -> None:
    """Counts a step of an optimizer in that file."""

def start(devices: Sequence[DeviceSpec]) -> None:
    """Makes torch's C++ see these GPUs. Raises RuntimeError where the installed torch is not as expected."""

def stop() -> None:
    """Undoes `start`."""

def place_on_first(wanted: bool) -> None:
    """Whatever is placed on a GPU is placed on cuda:0. NOTE [All on one GPU]"""

def take_any_generator(wanted: bool) -> None:
    """A generator of another device is taken where CUDA refuses it."""

def share_gpus(wanted: bool) -> None:
    """Ranks may have the same GPU, which NCCL refuses."""

def set_sample(ranks: Sequence[int], world_size: int) -> None:
    """Of a launch only these ranks run; none for all. NOTE [A sample of ranks] in core/collectives/attendance.h"""

def stand_in(rank: int, global_ranks: Sequence[int]) -> int:
    """The rank of a group that stands for ``rank``: itself, where it runs."""

def begin_with_zeros(wanted: bool) -> None:
    """Has all memory begin with zeros: what is read before it is written is the same in each run."""

def draw_from_host(wanted: bool) -> None:
    """Has all GPUs draw their random numbers from the CPU's default generator. NOTE [One stream of random numbers]"""

def start_full_size(real_below: int) -> None:
    """Has tensors of more than that many bytes made without numbers. NOTE [Tensors without numbers]"""

def stop_full_size() -> None: ...
def is_unknown(tensor: Any) -> bool:
    """Whether the numbers of a tensor were never computed."""

def offloaded_peak() -> int:
    """The most bytes that CPU tensors without numbers would have taken at once in this process."""

def bytes_sent() -> int:
    """Bytes that this process's collectives would have sent. NOTE [Bytes sent] in core/collectives/traffic.h"""

def tell_unknown_reads(told: Callable[[str], None] | None) -> None:
    """Has ``told`` called with the operator that hands such numbers to the program. It must not raise."""

def settle() -> None:
    """Ends what the autograd threads still hold. For the end of the process."""

def refusal_in(text: str) -> Refusal | None:
    """The latest of the last 64 refused calls, of any thread, whose message is in the text."""

def last_refusal() -> Refusal | None:
    """The last refusal of any thread of this process."""

def listen_to_refusals(told: Callable[[], None] | None) -> None:
    """Has ``told`` called for every refusal, on its thread, before its error is raised. It must not raise."""

def join_alignment() -> None:
    """The calling thread goes on after mismatches where another does."""

def start_alignment(told: Callable[[str], None]) -> None:
    """Has this thread go on after mismatches, its operands moved; ``told`` gets each sentence. It must not raise."""

class HostRead:
    """That the host has got at pinned memory which a copy still fills."""

    def end(self) -> None:
        """The host has read it by now: told if it has not waited for the copy since."""

def begin_host_read(tensor: Any, method: str) -> HostRead | None:
    """None where nothing is under way in the memory of ``tensor``, or the thread is not watched."""

def join_order() -> None:
    """The calling thread's operators are watched where another's are."""

def leave_order() -> bool:
    """The calling thread's operators are not watched until it joins again; returns whether they were."""

def start_order(told: Callable[..., None]) -> None:
    """Has the order of streams watched; ``told(kind, earlier, later, frames of the free)`` must not raise."""

def stop_order() -> None: ...
def stop_alignment() -> None:
    """Has this thread stop at mismatches again."""

# devices (cuda.cpp, forks.cpp)
def show_devices(devices: Sequence[DeviceSpec]) -> None:
    """Replaces the GPUs by new ones, with empty memory; none is allowed."""

def names_of(modules: Sequence[Any], ids: set[int]) -> list[tuple[Any, str]]:
    """Returns the names of the modules' own that hold an object with one of these ids. What is no module is skipped."""

def device_count() -> int: ...
def current_device() -> int: ...
def use_cublas() -> int: ...
def clear_cublas_workspaces() -> None: ...
def cublas_workspace_size() -> int: ...
def set_cublas_workspace_size(size: int) -> None: ...
def can_use_attention(
    kernel: str,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    dropout: float,
    is_causal: bool,
    enable_gqa: bool,
    explain: bool,
) -> bool:
    """Whether CUDA's fused attention ``kernel`` ("flash", "efficient", "cudnn") takes a call on the current GPU."""

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
def synchronize() -> None:
    """Waits for the current device, as far as a listener of torch.cuda._gpu_trace is concerned."""

def elapsed_time(start: Any, end: Any) -> float:
    """Milliseconds between two recorded events."""

# memory (memory.cpp, memory_history.cpp, host_memory.cpp); sizes are bytes, dictionaries have torch's layout
def memory_stats(device: int) -> dict[str, Any]: ...
def reset_peak_memory_stats(device: int) -> None: ...
def reset_accumulated_memory_stats(device: int) -> None: ...
def empty_cache() -> None: ...
def memory_info(device: int) -> tuple[int, int]:
    """Free and total bytes, as cudaMemGetInfo."""

def context_bytes(total_bytes: int) -> int:
    """The bytes that the CUDA context of a process takes of a GPU of so many bytes."""

def gpu_processes(uuid: str) -> list[tuple[int, int]]:
    """Returns the processes of the job that hold memory of a GPU, visible or not, and their bytes."""

def memory_fraction(device: int) -> float: ...
def set_memory_fraction(fraction: float, device: int) -> None: ...
def raw_allocate(bytes: int, stream: int) -> int:
    """An address on the current device, which nothing is behind; 0 for 0 bytes."""

def raw_free(address: int) -> None: ...
def memory_segments(device: int) -> list[dict[str, Any]]: ...
def memory_trace(device: int) -> list[dict[str, Any]]: ...
def held_memory(
    message: str, named: Sequence[tuple[Any, HolderKind, str]]
) -> HeldMemory | None: ...  # at the moment of an out-of-memory error of an emulated GPU; None for another error
def watch_peaks(wanted: bool) -> None: ...
def has_new_peak() -> bool:
    """Whether a GPU has held more since ``peaks`` was asked the last time."""

def peaks(named: Sequence[tuple[Any, HolderKind, str]], modules: Mapping[int, str]) -> list[PeakMemory]:
    """Returns who held the memory of each GPU when the most was held, as far as it was watched; names are kept.

    Args:
        named: live tensors, what each is, and its name.
        modules: a name for what the forward pass of each module computed, by the module's ``id``; see ModuleCalls.
    """

def mark_cache(tensor: Any) -> None:
    """Has the memory of a tensor on an emulated GPU be known as that of a KV cache, for as long as it is allocated."""

def around(call: Callable[..., Any], begin: Callable[[], Any], end: Callable[[Any], object]) -> Callable[..., Any]:
    """Returns a function that calls ``begin``, then ``call``, then ``end`` with what ``begin`` returned.

    ``end`` is called where ``call`` raises, too. No frame of it is in a stack or a traceback.
    """

class ModuleCalls:
    """Stands in the place of ``torch.nn.Module.__call__``, and notes which module runs on each thread.

    No frame of it is in a stack, and the class itself shows the ``__call__`` that it was given.
    """

    def __init__(self, call: Any, then: Callable[[], None]) -> None: ...
    def await_call(self) -> None:
        """Has the next call of a module call ``then`` before it begins."""

    def stop_waiting(self) -> None:
        """The next call is a call like any other."""

def record_memory_history(enabled: bool, max_entries: int) -> None: ...
def is_memory_history_recorded() -> bool: ...
def allocator_settings() -> dict[str, Any]: ...
def update_allocator_settings(text: str) -> None:
    """Reads text as PYTORCH_CUDA_ALLOC_CONF; raises ValueError in torch's words."""

def host_memory_stats() -> dict[str, Any]: ...
def host_room() -> tuple[int, int, str]: ...
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

class FollowedKernel:
    """While it lives, an operator's calls on emulated tensors go on to its kernel for `key`: CUDA or AutogradCUDA."""

    def __init__(self, name: str, key: str) -> None: ...

def take_over(tensor: Any) -> Any:
    """Makes a tensor that torch made over foreign memory labeled cuda:k an emulated one, in place; returns it."""

# provenance (provenance.cpp)
class Placement:
    """core/record/placement.h: why a tensor is where it is."""

    is_move: bool
    device: str
    from_device: str
    op: str
    source: int
    frames: Sequence[tuple[Any, int]]
    times: int
    bytes: int

def start_timeline() -> None:
    """Begins to note when tensors are moved, and the memory of GPUs; forgets what was noted before."""

def stop_timeline() -> None: ...
def drain_timeline() -> tuple[list[tuple[int, int, int, int, int]], list[tuple[int, int, int, int, list[int]]], int]:
    """Returns what was noted since the last call: moves (placement, first, last, times, bytes), looks at the memory
    (time, GPU, allocated, reserved, allocated by phase), and how many moves were dropped.

    Times are those of time.monotonic_ns.
    """

def memory_now() -> list[tuple[int, int, int, int, list[int]]]:
    """Returns (allocated, reserved, most allocated, most reserved, allocated by phase) bytes of each GPU."""

def enter_phase(phase: int) -> None:
    """What is allocated from now on is taken in a phase, by its number in NOTE [Memory by phase]; 0 is none."""

def start_recording(budget: int = ...) -> None:
    """Notes from now on where tensors are placed, in so many bytes."""

def stop_recording() -> None: ...
def is_recording() -> bool: ...
def recorded_bytes() -> int:
    """What the records take now."""

def recording_budget() -> int: ...
def placements() -> list[int]:
    """The numbers of the placements that are kept, in the order in which they came."""

def placement(number: int) -> Placement | None:
    """What is kept under a number; None for 0, and for a placement that was dropped."""

def origin_of(tensor: Any) -> tuple[int, str]:
    """The number of the placement that put the tensor where it is, 0 if unknown, and the operator that computed it."""

# the diagnosis (diagnosis.cpp, records.cpp): core/model, core/diagnose
class Code:
    code: str
    name: str
    summary: str
    naive_fix: str

def codes() -> Sequence[Code]:
    """Every code, in order."""

def diagnose(facts: Facts) -> Sequence[Finding]:
    """What is wrong: the cause of the failure first."""

def merge_findings(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Those of one cause as one, with the sites of all."""

def diagnose_ranks(facts: Sequence[RankFacts]) -> list[RankFinding]:
    """Explains a job: the first cause first; ranks with the same finding are one finding."""

def ranks_text(ranks: Sequence[int]) -> Message:
    """Returns "rank 3", "ranks 1-7", "ranks 0, 2 and 4-6"."""

def read_flight_recorder(path: str) -> dict[str, Any] | None:
    """What a process of the job, living or not, wrote of its collectives: NOTE [The flight recorder of a process] in
    core/collectives/flight_recorder_layout.h. None for a file that is no recording, or was not ready.

    ``pid``, ``rank`` (-1: not known), ``world_size``, ``started``, ``groups`` (``group``, ``description``, ``rank``,
    ``size``, ``ranks``: global ones) and ``collectives``, oldest first: ``number``, ``group``, ``sequence``, ``name``,
    ``shape``, ``elements``, ``bytes``, ``dtype``, ``device``, ``peer`` (global rank or -1), ``started``, ``finished``
    (seconds since the epoch; 0 while it is under way), ``state`` ("running", "done", "failed"), ``waited``, ``file``,
    ``line``, ``function``, ``error``.
    """

def set_nccl_version(version: str) -> None:
    """Sets the release of NCCL that its sentences name, e.g. "2.29.7"."""

def hash_tensors(tensors: Sequence[Any]) -> int:
    """A number for the bytes of all together, as hashTensors of torch/csrc/distributed/c10d/NCCLUtils.cpp makes it."""

class ProcessGroupNCCL:
    """NcclBackend of core/collectives: torch's ``Backend`` is its base. Missing in a torch without distributed."""

    get_build_nccl_version: Any
    get_runtime_nccl_version: Any
    def __init__(self, store: Any, rank: int, size: int, options: Any) -> None: ...

class SampledGloo:
    """SampledGloo of core/collectives, with the same base, and missing likewise: gloo where some ranks do not run."""

    def __init__(self, store: Any, rank: int, size: int, options: Any) -> None: ...
