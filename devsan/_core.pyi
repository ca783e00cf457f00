"""DevSan's core, as core/bindings gives it to Python. Private: devsan's Python modules are its interface.

A device is an ordinal among the GPUs that are shown. An ordinal that is not there raises torch.AcceleratorError in
CUDA's words, and memory that is not there torch.OutOfMemoryError in torch's.
"""

from collections.abc import Callable, Sequence
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

def share_memory(path: str, node: int) -> None:
    """GPUs made from here on share their memory with processes that name the same file and node; "" is with none."""

def start(devices: Sequence[DeviceSpec]) -> None:
    """Makes torch's C++ see these GPUs. Raises RuntimeError where the installed torch is not as expected."""

def stop() -> None:
    """Undoes `start`."""

def settle() -> None:
    """Ends what the autograd threads still hold. For the end of the process."""

def last_refusal() -> Refusal | None:
    """The last refusal of any thread of this process."""

def start_alignment(told: Callable[[str], None]) -> None:
    """Has this thread go on after mismatches, its operands moved; ``told`` gets each sentence. It must not raise."""

def stop_alignment() -> None:
    """Has this thread stop at mismatches again."""

# devices (cuda.cpp, forks.cpp)
def show_devices(devices: Sequence[DeviceSpec]) -> None:
    """Replaces the GPUs by new ones, with empty memory; none is allowed."""

def device_count() -> int: ...
def current_device() -> int: ...
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

def gpu_processes(uuid: str) -> list[tuple[int, int]]:
    """Returns the processes of the job that hold memory of a GPU, visible or not, and their bytes."""

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
def drain_timeline() -> tuple[list[tuple[int, int, int, int, int]], list[tuple[int, int, int, int]], int]:
    """Returns what was noted since the last call: moves (placement, first, last, times, bytes), looks at the memory
    (time, GPU, allocated, reserved), and how many moves were dropped; times as of time.monotonic_ns."""

def memory_now() -> list[tuple[int, int, int, int]]:
    """Returns (allocated, reserved, most allocated, most reserved) bytes of each GPU."""

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

# facts (facts.cpp): plain records, core/model/*.h. Each takes its fields as keywords; what is left out has its default.
# A list that is read is a copy: change it, then assign it.
class EventKind:
    MADE: EventKind
    MOVED: EventKind
    LOADED: EventKind
    COMPUTED: EventKind
    SHARED: EventKind
    name: str

class DeviceSource:
    UNKNOWN: DeviceSource
    DEFAULT: DeviceSource
    CURRENT: DeviceSource
    LITERAL: DeviceSource
    SCALAR: DeviceSource
    PEER: DeviceSource
    MAP: DeviceSource
    name: str

class OperandKind:
    UNKNOWN: OperandKind
    PARAMETER: OperandKind
    BUFFER: OperandKind
    ATTRIBUTE: OperandKind
    LOCAL: OperandKind
    TEMPORARY: OperandKind
    INPUT: OperandKind
    OPTIMIZER_STATE: OperandKind
    CACHE: OperandKind
    GLOBAL: OperandKind
    GENERATOR: OperandKind
    NUMBER: OperandKind
    name: str

class SentenceKind:
    """As ``devsan.introspect.frames.error_patterns.Kind``, and NONE."""

    NONE: SentenceKind
    name: str

class Phase:
    NONE: Phase
    LOAD: Phase
    DATA: Phase
    FORWARD: Phase
    LOSS: Phase
    BACKWARD: Phase
    OPTIMIZER: Phase
    GENERATE: Phase
    name: str

class Device:
    type: str
    index: int
    def __init__(self, text: str = "") -> None: ...

class Span:
    line: int
    column: int
    end_line: int
    end_column: int
    def __init__(self, **fields: Any) -> None: ...

class Frame:
    file: str
    span: Span
    function: str
    source: str
    package: str
    module: str
    def __init__(self, **fields: Any) -> None: ...

class Owner:
    name: str
    mechanism: str
    setting: str
    where: Frame
    def __init__(self, **fields: Any) -> None: ...

class Event:
    kind: EventKind
    device: Any
    from_device: Any
    op: str
    bytes: int
    owner: Owner
    stack: Sequence[Frame]
    source: DeviceSource
    device_text: str
    followed: str
    subject: str
    sequence: int
    step: int
    discarded: bool
    site: Frame | None
    def __init__(self, **fields: Any) -> None: ...

class Operand:
    role: str
    name: str
    qualified_name: str
    kind: OperandKind
    device: Any
    dtype: str
    shape: Sequence[int] | None
    bytes: int
    offending: bool
    span: Span
    provenance: Sequence[Event]
    copies: Sequence[Event]
    holder: str
    beside: str
    beside_device: Any
    registered: bool
    requires_grad: bool
    is_leaf: bool
    best_name: str
    placement: Event | None
    def __init__(self, **fields: Any) -> None: ...

class Failure:
    op: str
    sentence: str
    kind: SentenceKind
    figures: dict[str, str]
    operands: Sequence[Operand]
    frames: Sequence[Frame]
    phase: Phase
    step: int
    site: Frame | None
    def __init__(self, **fields: Any) -> None: ...

class ModuleTensor:
    name: str
    is_buffer: bool
    is_persistent: bool
    device: Any
    dtype: str
    bytes: int
    def __init__(self, **fields: Any) -> None: ...

class Hook:
    owner: Owner
    type: str
    execution_device: Any
    offload: bool
    io_same_device: bool
    skip_keys: Sequence[str]
    def __init__(self, **fields: Any) -> None: ...

class Module:
    path: str
    type: str
    package: str
    is_container: bool
    no_split: bool
    tensors: Sequence[ModuleTensor]
    hooks: Sequence[Hook]
    def __init__(self, **fields: Any) -> None: ...

class MapEntry:
    key: str
    device: Any
    def __init__(self, **fields: Any) -> None: ...

class Model:
    expression: str
    type: str
    device_map: Sequence[MapEntry]
    device_map_text: str
    wrappers: Sequence[str]
    quantization: str
    skip_keys: Sequence[str]
    no_split: Sequence[str]
    modules: Sequence[Module]
    placements: Sequence[Event]
    def __init__(self, **fields: Any) -> None: ...

class OptimizerState:
    key: str
    parameter: str
    device: Any
    parameter_device: Any
    def __init__(self, **fields: Any) -> None: ...

class Optimizer:
    type: str
    built: Event
    loaded: Event
    states: Sequence[OptimizerState]
    def __init__(self, **fields: Any) -> None: ...

class Setting:
    name: str
    value: str
    where: Frame
    def __init__(self, **fields: Any) -> None: ...

class Link:
    from_device: Any
    to_device: Any
    tested: bool
    damaged: bool
    peer_access: bool
    bytes: int
    def __init__(self, **fields: Any) -> None: ...

class Process:
    rank: int
    local_rank: int
    world_size: int
    current_device: Any
    set_device_called: bool
    device_count: int
    visible_devices: str
    default_device: Any
    default_set: Event
    versions: dict[str, str]
    environment: dict[str, str]
    def __init__(self, **fields: Any) -> None: ...

class Facts:
    failure: Failure
    models: Sequence[Model]
    optimizers: Sequence[Optimizer]
    settings: Sequence[Setting]
    links: Sequence[Link]
    process: Process
    def __init__(self, **fields: Any) -> None: ...

# findings (findings.cpp): core/model/finding.h, core/diagnose/codes.h
class Severity:
    ERROR: Severity
    WARNING: Severity
    name: str

class Confidence:
    POSSIBLE: Confidence
    LIKELY: Confidence
    CERTAIN: Confidence
    name: str

class FixKind:
    CONFIGURATION: FixKind
    MAP: FixKind
    CREATION_SITE: FixKind
    USE_SITE: FixKind
    name: str

class Edit:
    file: str
    line: int
    before: str
    after: str

class Fix:
    kind: FixKind
    text: str
    edit: Edit | None
    confidence: Confidence

class Site:
    frame: Frame
    op: str
    sentence: str
    count: int

class Finding:
    code: str
    name: str
    title: str
    severity: Severity
    confidence: Confidence
    operands: Sequence[int]
    evidence: Sequence[str]
    fixes: Sequence[Fix]
    naive_fix: str
    candidates: Sequence[str]
    sites: Sequence[Site]
    id: str
    cause: str

class Code:
    code: str
    name: str
    title: str
    naive_fix: str

def codes() -> Sequence[Code]:
    """Every code, in order."""

def diagnose(facts: Facts) -> Sequence[Finding]:
    """What is wrong: the cause of the failure first."""

def merge_findings(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Those of one cause as one, with the sites of all."""

# ranks (ranks.cpp): core/model/rank.h, core/diagnose/ranks
class RankEnd:
    UNKNOWN: RankEnd
    RUNNING: RankEnd
    FINISHED: RankEnd
    RAISED: RankEnd
    EXITED: RankEnd
    KILLED: RankEnd
    TERMINATED: RankEnd
    name: str

class RankTensor:
    def __init__(self, **fields: Any) -> None: ...

class RankModel:
    mapped_at: Frame
    def __init__(self, **fields: Any) -> None: ...

class RankMemory:
    def __init__(self, **fields: Any) -> None: ...

class Collective:
    where: Frame
    def __init__(self, **fields: Any) -> None: ...

class OwnFinding:
    def __init__(self, **fields: Any) -> None: ...

class RankFacts:
    end: RankEnd
    exit_code: int
    signal: int
    ended: float
    error: str
    sentence: str
    where: Frame
    in_collective: bool
    group_made: Frame
    def __init__(self, **fields: Any) -> None: ...

class RankFinding:
    finding: Finding
    ranks: Sequence[int]
    victims: Sequence[str]
    of_rank: int
    of_finding: int
    shown_rank: int
    shown_finding: int

def diagnose_ranks(facts: Sequence[RankFacts]) -> list[RankFinding]:
    """Explains a job: the first cause first; ranks with the same finding are one finding."""

def ranks_text(ranks: Sequence[int]) -> str:
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
