"""The records of a diagnosis, which are in ``devsan._core``: at run time there is no module of this name.

Written by tools/generate_border.py from core/model/*.h. A list that is read is a copy: change it, then assign it.
"""

from collections.abc import Sequence
from typing import ClassVar

from devsan.diagnostics.messages import Message

class Device:
    """A device as torch writes it, "cuda:1" or "cpu"; "" is not known. A str is taken where one is expected."""

    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int: ...
    def __init__(self, text: str = "") -> None: ...
    def __hash__(self) -> int: ...

class EventKind:
    MADE: ClassVar[EventKind]  # a factory: zeros, tensor, empty, from_numpy
    MOVED: ClassVar[EventKind]  # the bytes went to another device: Tensor.to, .cuda, copy_, Module.to
    LOADED: ClassVar[EventKind]  # read from a checkpoint or received: torch.load, safetensors, a DataLoader's worker
    COMPUTED: ClassVar[EventKind]  # the result of an operator: it is where its operands were
    SHARED: ClassVar[EventKind]  # the same bytes under another name: a view, detach, set_
    __members__: ClassVar[dict[str, EventKind]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class DeviceSource:
    """How the device of a placement was said."""

    UNKNOWN: ClassVar[DeviceSource]
    DEFAULT: ClassVar[DeviceSource]  # not at all: torch.zeros(3)
    CURRENT: ClassVar[DeviceSource]  # "cuda", .cuda(): whatever GPU is current
    LITERAL: ClassVar[DeviceSource]  # "cuda:0", 1, "cpu"
    # one value that stands for "the device": hparams.device, self.device, args.device, model.device
    SCALAR: ClassVar[DeviceSource]
    PEER: ClassVar[DeviceSource]  # that of a tensor: x.device, zeros_like(x), x.new_zeros(3)
    MAP: ClassVar[DeviceSource]  # an entry of a device map, or what a hook was told
    __members__: ClassVar[dict[str, DeviceSource]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class SentenceKind:
    """What the sentence is about."""

    NONE: ClassVar[SentenceKind]  # nothing failed
    MIXED: ClassVar[SentenceKind]
    INDEX: ClassVar[SentenceKind]
    GRADIENT: ClassVar[SentenceKind]
    MODULE: ClassVar[SentenceKind]
    NUMPY: ClassVar[SentenceKind]
    HOST: ClassVar[SentenceKind]
    FORK: ClassVar[SentenceKind]
    GENERATOR: ClassVar[SentenceKind]
    ORDINAL: ClassVar[SentenceKind]
    MEMORY: ClassVar[SentenceKind]
    META: ClassVar[SentenceKind]
    POINTER: ClassVar[SentenceKind]
    GROUP: ClassVar[SentenceKind]
    LOAD: ClassVar[SentenceKind]
    PLACEMENT: ClassVar[SentenceKind]
    EXPECTED: ClassVar[SentenceKind]  # a tensor is not where `devsan.expect` was told
    __members__: ClassVar[dict[str, SentenceKind]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class Phase:
    """What the program was doing."""

    NONE: ClassVar[Phase]
    LOAD: ClassVar[Phase]
    DATA: ClassVar[Phase]
    FORWARD: ClassVar[Phase]
    LOSS: ClassVar[Phase]
    BACKWARD: ClassVar[Phase]
    OPTIMIZER: ClassVar[Phase]
    GENERATE: ClassVar[Phase]
    __members__: ClassVar[dict[str, Phase]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class Severity:
    ERROR: ClassVar[Severity]
    WARNING: ClassVar[Severity]
    NOTE: ClassVar[Severity]
    __members__: ClassVar[dict[str, Severity]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class Confidence:
    """How sure a finding or a fix is."""

    POSSIBLE: ClassVar[Confidence]  # fits, and so do others
    LIKELY: ClassVar[Confidence]  # fits better than any other
    CERTAIN: ClassVar[Confidence]  # the facts leave no other
    __members__: ClassVar[dict[str, Confidence]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class FixKind:
    """Where a fix is applied, the best place first."""

    CONFIGURATION: ClassVar[FixKind]
    MAP: ClassVar[FixKind]
    CREATION_SITE: ClassVar[FixKind]
    USE_SITE: ClassVar[FixKind]
    __members__: ClassVar[dict[str, FixKind]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class HolderKind:
    """What memory of a GPU is held for."""

    PARAMETER: ClassVar[HolderKind]  # of a model
    GRADIENT: ClassVar[HolderKind]  # of a parameter
    OPTIMIZER_STATE: ClassVar[HolderKind]  # what an optimizer keeps for a parameter
    BUFFER: ClassVar[HolderKind]  # of a model
    CACHE: ClassVar[HolderKind]  # keys and values that a model keeps of earlier tokens
    COLLECTED: ClassVar[HolderKind]  # in a list or a dictionary that a variable of the program holds
    HISTORY: ClassVar[HolderKind]  # for a backward pass through several earlier passes, whose graphs one variable keeps
    # made for collectives, as DDP's buckets: given to one or filled by one, and none of the above
    COMMUNICATION: ClassVar[HolderKind]
    ACTIVATION: ClassVar[HolderKind]  # the result of an operator in a forward pass, or beside all passes
    TEMPORARY: ClassVar[HolderKind]  # the result of an operator in a backward pass or in a step of an optimizer
    DATA: ClassVar[HolderKind]  # a tensor that was created on the GPU or copied to it, and is none of the above
    WORKSPACE: ClassVar[HolderKind]  # of a kernel or a library, beside all tensors
    # reserved by torch, and allocated for nothing: between and behind what is, or kept for later
    FRAGMENTATION: ClassVar[HolderKind]
    CONTEXT: ClassVar[HolderKind]  # of CUDA itself: kernels' code and the runtime's own buffers
    UNKNOWN: ClassVar[HolderKind]  # nobody says
    __members__: ClassVar[dict[str, HolderKind]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class OperandKind:
    """What a tensor is in the program."""

    UNKNOWN: ClassVar[OperandKind]
    PARAMETER: ClassVar[OperandKind]  # registered in a module
    BUFFER: ClassVar[OperandKind]  # registered in a module
    # held by a module (or an object in one), but not registered: attribute, list, dict, closure
    ATTRIBUTE: ClassVar[OperandKind]
    LOCAL: ClassVar[OperandKind]  # a variable of a function
    TEMPORARY: ClassVar[OperandKind]  # the value of an expression; no name holds it
    # came with the batch or as an argument of the model: input_ids, labels, num_items_in_batch
    INPUT: ClassVar[OperandKind]
    OPTIMIZER_STATE: ClassVar[OperandKind]  # a value in optimizer.state, or in an average of the weights (EMA)
    CACHE: ClassVar[OperandKind]  # generation state: keys, values, recurrent state
    GLOBAL: ClassVar[OperandKind]  # of a module of Python, of a class or of a function (a default, a captured variable)
    GENERATOR: ClassVar[OperandKind]  # a torch.Generator, not a tensor
    NUMBER: ClassVar[OperandKind]  # a Python number
    __members__: ClassVar[dict[str, OperandKind]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class RankEnd:
    """How a rank's process ended, as far as anybody knows."""

    UNKNOWN: ClassVar[RankEnd]  # nothing was heard of it since
    RUNNING: ClassVar[RankEnd]  # it was still at work when the job was looked at
    FINISHED: ClassVar[RankEnd]  # its program came to its end
    RAISED: ClassVar[RankEnd]  # an exception ended it
    EXITED: ClassVar[RankEnd]  # it left with an exit code other than 0
    KILLED: ClassVar[RankEnd]  # a signal ended it
    TERMINATED: ClassVar[RankEnd]  # whoever started the job ended it, because of another rank
    __members__: ClassVar[dict[str, RankEnd]]
    @property
    def name(self) -> str: ...
    def __int__(self) -> int: ...

class DeviceSpec:
    """One GPU as a program sees it: what `torch.cuda.get_device_properties` prints, and how much memory it has. The
    figures come from devsan/profiles.*, with their sources; C++ only carries them."""

    name: str  # as `torch.cuda.get_device_name` prints it
    profile: str  # DevSan's name of it, e.g. "a100-80g"
    uuid: str  # 16 bytes as hexadecimal text, without the "GPU-" prefix
    total_memory: int  # bytes
    used_memory: int  # bytes that other processes hold
    major: int  # compute capability
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int  # bytes
    shared_memory_per_block_optin: int  # bytes
    shared_memory_per_multiprocessor: int  # bytes
    l2_cache_size: int  # bytes
    memory_bus_width: int  # bits
    memory_clock_rate: int  # kHz
    clock_rate: int  # kHz
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int
    is_integrated: bool
    is_multi_gpu_board: bool
    def __init__(
        self,
        *,
        name: str = ...,
        profile: str = ...,
        uuid: str = ...,
        total_memory: int = ...,
        used_memory: int = ...,
        major: int = ...,
        minor: int = ...,
        multi_processor_count: int = ...,
        max_threads_per_multi_processor: int = ...,
        max_threads_per_block: int = ...,
        warp_size: int = ...,
        regs_per_multiprocessor: int = ...,
        shared_memory_per_block: int = ...,
        shared_memory_per_block_optin: int = ...,
        shared_memory_per_multiprocessor: int = ...,
        l2_cache_size: int = ...,
        memory_bus_width: int = ...,
        memory_clock_rate: int = ...,
        clock_rate: int = ...,
        pci_bus_id: int = ...,
        pci_device_id: int = ...,
        pci_domain_id: int = ...,
        is_integrated: bool = ...,
        is_multi_gpu_board: bool = ...,
    ) -> None: ...

class Event:
    """Something that happened to a tensor's storage or to a module."""

    kind: EventKind
    device: Device  # where it was afterwards
    from_device: Device  # where it was before; not known for what was made
    op: str  # "aten::zeros", "Tensor.to", "Module.to", "AlignDevicesHook.pre_forward"
    bytes: int  # that were placed or moved
    owner: Owner  # who did it
    stack: Sequence[Frame]  # innermost first; the program's own frame is among them where there is one
    source: DeviceSource
    device_text: str  # the argument that said the device, as written: `f"cuda:{hparams.device}"`
    device_value: str  # what that argument was given elsewhere, if it is a name: "next(model.parameters()).device"
    device_value_at: str  # where that stands: "train.py:76"
    followed: str  # of a result: the operand whose device it took; of a move: what it is of, as written
    subject: str  # of a module's event: its path, "" for the whole model; unused in a tensor's provenance
    sequence: int  # orders the events of one process; 0 is not known
    step: int  # of two calls of the failing function the earlier has the lower number; -1: not known
    discarded: bool  # the statement threw the result away: `x.to(device)` on a line of its own
    amended: str  # of a move without effect: its statement as it would have one; "" if not known
    @property
    def site(self) -> Frame | None:
        """The innermost frame of the program; the innermost of all where none is the program's; null without a
        stack."""

    @property
    def written(self) -> Frame | None:
        """The innermost frame that is neither torch's, accelerate's nor Python's own: who wrote the call. As `site`
        where there is none."""

    def __init__(
        self,
        *,
        kind: EventKind = ...,
        device: Device | str = ...,
        from_device: Device | str = ...,
        op: str = ...,
        bytes: int = ...,
        owner: Owner = ...,
        stack: Sequence[Frame] = ...,
        source: DeviceSource = ...,
        device_text: str = ...,
        device_value: str = ...,
        device_value_at: str = ...,
        followed: str = ...,
        subject: str = ...,
        sequence: int = ...,
        step: int = ...,
        discarded: bool = ...,
        amended: str = ...,
    ) -> None: ...

class OptimizerState:
    """A tensor that an optimizer, or an average of weights, keeps for a parameter."""

    key: str  # "exp_avg"
    parameter: str  # path of the parameter, "" when it is no longer in a model
    device: Device
    parameter_device: Device
    def __init__(
        self,
        *,
        key: str = ...,
        parameter: str = ...,
        device: Device | str = ...,
        parameter_device: Device | str = ...,
    ) -> None: ...

class Optimizer:
    type: str  # "torch.optim.AdamW", "EMA"
    built: Event  # where it was constructed
    loaded: Event  # the last load_state_dict; sequence 0 when there was none
    written: Frame  # the program's only statement that writes into the state of an optimizer
    states: Sequence[OptimizerState]  # those that are not with their parameter, at most a few
    trains_on: Sequence[Device]  # where its parameters are, each once
    def __init__(
        self,
        *,
        type: str = ...,
        built: Event = ...,
        loaded: Event = ...,
        written: Frame = ...,
        states: Sequence[OptimizerState] = ...,
        trains_on: Sequence[Device | str] = ...,
    ) -> None: ...

class Setting:
    """A setting that someone chose, besides device maps."""

    name: str  # "deepspeed.zero_optimization.offload_optimizer.device", "Trainer.args.n_gpu", "nproc_per_node"
    value: str  # "cpu"
    where: Frame  # its line, where there is one
    def __init__(self, *, name: str = ..., value: str = ..., where: Frame = ...) -> None: ...

class Link:
    """A path between two GPUs, as far as it was tested."""

    from_device: Device
    to_device: Device
    tested: bool
    damaged: bool  # a copied pattern did not arrive
    peer_access: bool  # direct copies are switched on
    bytes: int  # that the program sent over it
    def __init__(
        self,
        *,
        from_device: Device | str = ...,
        to_device: Device | str = ...,
        tested: bool = ...,
        damaged: bool = ...,
        peer_access: bool = ...,
        bytes: int = ...,
    ) -> None: ...

class Process:
    rank: int
    local_rank: int
    world_size: int
    current_device: Device  # of the failing thread
    set_device_called: bool  # torch.cuda.set_device was called in this process
    device_count: int  # GPUs that this process sees
    visible_devices: str  # CUDA_VISIBLE_DEVICES, "" when it is not set
    default_device: Device  # torch.get_default_device(); not known or cpu when nobody changed it
    default_set: Event  # where it was changed
    versions: dict[str, str]  # by distribution: "torch" -> "2.13.0"
    environment: dict[str, str]  # the variables that decide about devices
    def __init__(
        self,
        *,
        rank: int = ...,
        local_rank: int = ...,
        world_size: int = ...,
        current_device: Device | str = ...,
        set_device_called: bool = ...,
        device_count: int = ...,
        visible_devices: str = ...,
        default_device: Device | str = ...,
        default_set: Event = ...,
        versions: dict[str, str] = ...,
        environment: dict[str, str] = ...,
    ) -> None: ...

class Facts:
    """Everything that is known when a failure is to be explained. Plain data: no tensor, no Python."""

    failure: Failure
    models: Sequence[Model]  # the one that failed first
    optimizers: Sequence[Optimizer]
    settings: Sequence[Setting]
    links: Sequence[Link]
    process: Process
    def __init__(
        self,
        *,
        failure: Failure = ...,
        models: Sequence[Model] = ...,
        optimizers: Sequence[Optimizer] = ...,
        settings: Sequence[Setting] = ...,
        links: Sequence[Link] = ...,
        process: Process = ...,
    ) -> None: ...

class Failure:
    """The operation that was refused."""

    op: str  # "aten::addmm"; "" when nobody says
    sentence: str  # torch's or the library's own words, one line
    kind: SentenceKind
    figures: dict[str, str]  # what the sentence tells besides: "rank", "gpu", "count", ...
    operands: Sequence[Operand]  # in the order of the source; those that take part in the mismatch, or all
    around: Sequence[Device]  # where the other tensors are that the failing statement names
    frames: Sequence[Frame]  # innermost first
    call: Frame  # the program's statement that led into the library that fails, where a line can stand above it
    phase: Phase
    step: int  # of the failing call, as Event::step
    memory: HeldMemory | None  # of a GPU that ran out of memory, where DevSan knows who holds it
    @property
    def site(self) -> Frame | None:
        """The innermost frame of the program, or of a library that is neither torch nor accelerate's wrapper; null
        without."""

    def __init__(
        self,
        *,
        op: str = ...,
        sentence: str = ...,
        kind: SentenceKind = ...,
        figures: dict[str, str] = ...,
        operands: Sequence[Operand] = ...,
        around: Sequence[Device | str] = ...,
        frames: Sequence[Frame] = ...,
        call: Frame = ...,
        phase: Phase = ...,
        step: int = ...,
        memory: HeldMemory | None = ...,
    ) -> None: ...

class Edit:
    """A change of source text that a machine can make. Lines `line` to `line + number of lines of before - 1`."""

    file: str
    line: int  # from 1
    before: str  # the text as it is, without indentation of the first line
    after: str
    def __init__(self, *, file: str = ..., line: int = ..., before: str = ..., after: str = ...) -> None: ...

class Fix:
    kind: FixKind
    text: Message  # one sentence in the imperative: "create delta on the device of cur_out"
    edit: Edit | None  # where it is mechanical
    confidence: Confidence
    def __init__(
        self,
        *,
        kind: FixKind = ...,
        text: str = ...,
        edit: Edit | None = ...,
        confidence: Confidence = ...,
    ) -> None: ...

class Site:
    """A place where the cause shows."""

    frame: Frame
    op: str
    sentence: str
    count: int  # how often
    def __init__(self, *, frame: Frame = ..., op: str = ..., sentence: str = ..., count: int = ...) -> None: ...

class Finding:
    """What is wrong: the result of a diagnosis."""

    code: str  # "DV101"; "DV000" when the evidence does not decide
    name: str  # "single-device-assumption"
    title: Message  # what is wrong in this case, in one line
    severity: Severity
    confidence: Confidence
    operands: Sequence[int]  # indices into the failure's operands, the one to change first
    evidence: Sequence[Message]  # what was seen that makes it this cause and not another; whole sentences
    fixes: Sequence[Fix]  # best first
    naive_fix: str  # what a bare `.to(device)` at the failing line would break
    candidates: Sequence[str]  # codes that fit as well; more than one only where it is undecided
    sites: Sequence[Site]  # all places of this cause, the one that failed first
    id: str  # stable over runs: of the failing operation (op, operand roles, owners, frame)
    cause: str  # stable over runs and sites: of the placement that is to be changed; "" when not known
    def __init__(
        self,
        *,
        code: str = ...,
        name: str = ...,
        title: str = ...,
        severity: Severity = ...,
        confidence: Confidence = ...,
        operands: Sequence[int] = ...,
        evidence: Sequence[str] = ...,
        fixes: Sequence[Fix] = ...,
        naive_fix: str = ...,
        candidates: Sequence[str] = ...,
        sites: Sequence[Site] = ...,
        id: str = ...,
        cause: str = ...,
    ) -> None: ...

class Span:
    """A piece of one source file. Lines and columns count from 1; 0 is not known. The end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    def __init__(self, *, line: int = ..., column: int = ..., end_line: int = ..., end_column: int = ...) -> None: ...

class Frame:
    """A place in a Python program: one frame of a stack."""

    file: str  # as Python names it
    span: Span  # what the frame was executing
    function: str  # the qualified name where Python tells it: "LlamaAttention.forward"
    source: str  # the text of that line (or of all lines of the statement), stripped; "" when not known
    package: str  # distribution that the file belongs to: "torch", "transformers"; "" is the program itself
    module: str  # path of the module whose method this is: "model.layers.17"; "" when it is none
    @property
    def is_known(self) -> bool: ...
    @property
    def is_program(self) -> bool: ...
    def __init__(
        self,
        *,
        file: str = ...,
        span: Span = ...,
        function: str = ...,
        source: str = ...,
        package: str = ...,
        module: str = ...,
    ) -> None: ...

class MemoryHolder:
    """Tensors of one name, or those without a name that came from one operator or one line."""

    name: str  # "model.layers.0.weight", "`losses`"; "" where nothing names it
    op: str  # the operator that computed it, where it has no name: "aten::relu"
    where: str  # the line that placed it, where it has neither: "train.py:12"
    placement: int  # the number of the placement of that line; 0: not known
    bytes: int  # with what the allocator rounds up
    tensors: int
    def __init__(
        self,
        *,
        name: str = ...,
        op: str = ...,
        where: str = ...,
        placement: int = ...,
        bytes: int = ...,
        tensors: int = ...,
    ) -> None: ...

class MemoryPart:
    """All memory of one kind."""

    kind: HolderKind
    bytes: int
    tensors: int
    largest: Sequence[MemoryHolder]  # at most three, the largest first
    def __init__(
        self,
        *,
        kind: HolderKind = ...,
        bytes: int = ...,
        tensors: int = ...,
        largest: Sequence[MemoryHolder] = ...,
    ) -> None: ...

class GpuRoom:
    """The room on one GPU."""

    device: Device
    total: int  # bytes
    free: int  # bytes, with what torch could give back to the GPU
    def __init__(self, *, device: Device | str = ..., total: int = ..., free: int = ...) -> None: ...

class HeldMemory:
    """Who holds the memory of a GPU at the moment when it was asked for more than it has. All sizes are bytes."""

    device: Device
    requested: int  # what the program asked for
    tried: int  # what was asked of the GPU for it: a segment
    total: int
    free: int
    process: int  # what this process takes, with its CUDA context
    others: int  # what other processes take
    allowed: int  # the most that set_per_process_memory_fraction allows; 0: all of it
    allocated: int  # in tensors and workspaces
    reserved: int  # that, and what torch keeps for the next tensors
    expandable_segments: bool
    checkpoints: bool  # a model computes results of operators again in the backward pass
    parts: Sequence[MemoryPart]  # the largest first; together they are what is allocated
    elsewhere: Sequence[GpuRoom]  # the other GPUs that the process sees
    def __init__(
        self,
        *,
        device: Device | str = ...,
        requested: int = ...,
        tried: int = ...,
        total: int = ...,
        free: int = ...,
        process: int = ...,
        others: int = ...,
        allowed: int = ...,
        allocated: int = ...,
        reserved: int = ...,
        expandable_segments: bool = ...,
        checkpoints: bool = ...,
        parts: Sequence[MemoryPart] = ...,
        elsewhere: Sequence[GpuRoom] = ...,
    ) -> None: ...

class PeakMemory:
    """Who held the memory of a GPU at the moment when the program held the most. All sizes are bytes."""

    device: Device
    allocated: int  # in tensors and workspaces
    reserved: int  # that, and what torch keeps for the next tensors
    op: str  # the operator whose result was the last to come; "" for none
    placement: int  # the number under which the stack of that moment is kept; 0: of none
    parts: Sequence[MemoryPart]  # the largest first; together they are what the process takes of the GPU
    stack: Sequence[Frame]  # of that moment, innermost first; none where Python does not know the thread
    def __init__(
        self,
        *,
        device: Device | str = ...,
        allocated: int = ...,
        reserved: int = ...,
        op: str = ...,
        placement: int = ...,
        parts: Sequence[MemoryPart] = ...,
        stack: Sequence[Frame] = ...,
    ) -> None: ...

class ModuleTensor:
    """A parameter or a buffer, as its module registers it."""

    name: str  # within its module: "weight"
    is_buffer: bool
    is_persistent: bool  # false: a buffer that no checkpoint holds
    device: Device
    dtype: str
    bytes: int
    def __init__(
        self,
        *,
        name: str = ...,
        is_buffer: bool = ...,
        is_persistent: bool = ...,
        device: Device | str = ...,
        dtype: str = ...,
        bytes: int = ...,
    ) -> None: ...

class Hook:
    """What a framework put onto a module's forward."""

    owner: Owner
    type: str  # "AlignDevicesHook", "CpuOffload", "UserCpuOffloadHook"
    execution_device: Device  # where it brings the inputs
    offload: bool  # it brings the weights in for each call, and takes them away after it
    io_same_device: bool  # outputs go back to where the inputs came from
    skip_keys: Sequence[str]  # keyword arguments that it leaves alone
    def __init__(
        self,
        *,
        owner: Owner = ...,
        type: str = ...,
        execution_device: Device | str = ...,
        offload: bool = ...,
        io_same_device: bool = ...,
        skip_keys: Sequence[str] = ...,
    ) -> None: ...

class Module:
    path: str  # "model.layers.17", "" for the root
    type: str  # class name: "LlamaDecoderLayer"
    package: str  # that the class is from: "transformers", "" is the program
    is_container: bool  # ModuleList, Sequential, ModuleDict: has no code of its own that joins its children
    no_split: bool  # its class is in the model's _no_split_modules
    tensors: Sequence[ModuleTensor]  # its own, not its children's
    hooks: Sequence[Hook]  # outermost first
    def __init__(
        self,
        *,
        path: str = ...,
        type: str = ...,
        package: str = ...,
        is_container: bool = ...,
        no_split: bool = ...,
        tensors: Sequence[ModuleTensor] = ...,
        hooks: Sequence[Hook] = ...,
    ) -> None: ...

class MapEntry:
    """One entry of a device map. The key may name a parameter instead of a module."""

    key: str  # "model.layers.17", "" is the whole model
    device: Device  # may be "disk"
    def __init__(self, *, key: str = ..., device: Device | str = ...) -> None: ...

class Model:
    """One root module of the program."""

    expression: str  # how the program reaches it: "trainer.model"
    type: str  # class name
    is_object: bool  # no module itself: a plain object that keeps several, as a Trainer does
    device_map: Sequence[MapEntry]  # hf_device_map; empty where there is none
    mapped: Sequence[str]  # paths of the modules that have one, "" for the model itself
    device_map_text: str  # what the user asked for: `device_map="auto"`
    wrappers: Sequence[str]  # outermost first: "DDP", "torch.nn.DataParallel", "deepspeed", "FSDP", "lightning"
    quantization: str  # "bitsandbytes 4-bit", "awq", ...; "" for none
    skip_keys: Sequence[str]  # _skip_keys_device_placement
    no_split: Sequence[str]  # _no_split_modules
    modules: Sequence[Module]  # every module, parents before children; the root is ""
    placements: Sequence[Event]  # what moved or dispatched it or parts of it, oldest first
    @property
    def devices(self) -> Sequence[Device]:
        """The devices of its parameters and buffers, each once, in the order of the modules."""

    def __init__(
        self,
        *,
        expression: str = ...,
        type: str = ...,
        is_object: bool = ...,
        device_map: Sequence[MapEntry] = ...,
        mapped: Sequence[str] = ...,
        device_map_text: str = ...,
        wrappers: Sequence[str] = ...,
        quantization: str = ...,
        skip_keys: Sequence[str] = ...,
        no_split: Sequence[str] = ...,
        modules: Sequence[Module] = ...,
        placements: Sequence[Event] = ...,
    ) -> None: ...

class Operand:
    """One operand of the failing operation."""

    role: str  # as torch's schema names it: "mat2", "tensors[1]", "self"
    name: str  # as the source writes it: "self.norm.weight"; "" when no source names it
    qualified_name: str  # its path in the model: "model.layers.17.mlp.down_proj.weight"; "" outside of one
    output_of: str  # the module whose output it is, where no name holds that: "model[1] (ReLU)"
    kind: OperandKind
    device: Device
    dtype: str  # without "torch.": "float32"; "" when not known
    shape: Sequence[int] | None  # none: not known
    bytes: int
    offending: bool  # torch names it, or the rules single it out, as the one in the wrong place
    span: Span  # where the failing frame writes it
    provenance: Sequence[Event]  # how it came to be where it is, newest first
    copies: Sequence[Event]  # copies of it on other devices that were made since: `y = x.to(d)`, `x.to(d)`
    holder: str  # path of the module that holds it, registered or not: "model.layers.17.attn"; a global's function
    kept_as: str  # what is not registered, by how it is kept: "layers.1.codebook.codes", a class's "Norm.mean"
    tied_to: str  # path of another module's parameter that is the same tensor; "" where there is none
    replaced_at: Frame  # the program's statement that put it in the place of another one of its module's
    ignored_at: Frame  # the program's call that told FSDP to leave parameters where they are, where it has the model
    override_at: Frame  # its holder's own `to` or `cuda`, which moves it and which no move of a parent calls
    device_there: str  # what the function that placed it calls the device of another operand: "device"
    left_in: str  # where an object keeps it that was moved in part, or not at all: "batch.pool_index[0]"
    made_of: str  # a variable in its expression that is a tensor on its device; "" where its name is one
    moved_part: str  # a part of that object that is on another GPU: "batch.atoms"; "" where nothing was moved
    member: str  # what of a program's object holds it, where all else of that object is elsewhere: "self.table"
    member_of: str  # the class of that object
    member_home: Device  # where all else of it is
    member_given: Frame  # the line that gave it to the object
    given: Sequence[str]  # what Failure::call passes on for it, and after that what else is on its device
    given_in: str  # "dict" or "tuple", where the first of them is one of tensors
    asked: str  # what has its device where that call stands: "model", "self.head.weight"
    beside: str  # what it stands beside: path of the base weight of an adapter or a quantization state
    beside_device: Device  # where that is
    registered: bool  # a parameter or buffer of a module that the model does not register (in a list): false
    requires_grad: bool
    is_leaf: bool
    @property
    def placement(self) -> Event | None:
        """The newest event that decided its device; null where the provenance does not reach it."""

    @property
    def is_scalar(self) -> bool: ...
    @property
    def best_name(self) -> str:
        """The best name there is: the source's, or the model's, or whose output it is, or the schema's."""

    def __init__(
        self,
        *,
        role: str = ...,
        name: str = ...,
        qualified_name: str = ...,
        output_of: str = ...,
        kind: OperandKind = ...,
        device: Device | str = ...,
        dtype: str = ...,
        shape: Sequence[int] | None = ...,
        bytes: int = ...,
        offending: bool = ...,
        span: Span = ...,
        provenance: Sequence[Event] = ...,
        copies: Sequence[Event] = ...,
        holder: str = ...,
        kept_as: str = ...,
        tied_to: str = ...,
        replaced_at: Frame = ...,
        ignored_at: Frame = ...,
        override_at: Frame = ...,
        device_there: str = ...,
        left_in: str = ...,
        made_of: str = ...,
        moved_part: str = ...,
        member: str = ...,
        member_of: str = ...,
        member_home: Device | str = ...,
        member_given: Frame = ...,
        given: Sequence[str] = ...,
        given_in: str = ...,
        asked: str = ...,
        beside: str = ...,
        beside_device: Device | str = ...,
        registered: bool = ...,
        requires_grad: bool = ...,
        is_leaf: bool = ...,
    ) -> None: ...

class Owner:
    """Who placed something, by which means, and what told it to."""

    name: str  # "program", "accelerate", "DDP", ...: one of `owners`, or a package; "" is not known
    mechanism: str  # "AlignDevicesHook", "Module.to", "DeepSpeedEngine", "replicate", "zeros"
    setting: str  # what made it do so, as the user wrote it: `device_map["model.layers.17"] = 1`
    where: Frame  # the user's line that installed it; not known where there is none
    @property
    def is_known(self) -> bool: ...
    def __init__(self, *, name: str = ..., mechanism: str = ..., setting: str = ..., where: Frame = ...) -> None: ...

class RankTensor:
    """A parameter or buffer of a rank's model, in the order in which the model registers them. Ranks are compared by
    these."""

    name: str  # its path: "layers.0.weight"
    is_buffer: bool
    requires_grad: bool
    device: Device
    dtype: str  # without "torch."
    shape: Sequence[int]
    def __init__(
        self,
        *,
        name: str = ...,
        is_buffer: bool = ...,
        requires_grad: bool = ...,
        device: Device | str = ...,
        dtype: str = ...,
        shape: Sequence[int] = ...,
    ) -> None: ...

class RankModel:
    """One root module of a rank, without the values."""

    expression: str  # how the program reaches it
    type: str  # class name
    wrappers: Sequence[str]  # outermost first: "DDP", "deepspeed", ...
    tensors: Sequence[RankTensor]  # the first ones, where there are very many
    count: int  # of all its tensors
    digest: str  # of all its tensors without their devices: the same where two models agree
    device_map: Sequence[MapEntry]  # hf_device_map, each device once
    device_map_text: str  # as the user wrote it
    mapped_at: Frame  # the line that asked for the map
    hook_devices: Sequence[Device]  # where its hooks bring inputs to, each once
    def __init__(
        self,
        *,
        expression: str = ...,
        type: str = ...,
        wrappers: Sequence[str] = ...,
        tensors: Sequence[RankTensor] = ...,
        count: int = ...,
        digest: str = ...,
        device_map: Sequence[MapEntry] = ...,
        device_map_text: str = ...,
        mapped_at: Frame = ...,
        hook_devices: Sequence[Device | str] = ...,
    ) -> None: ...

class RankMemory:
    """What a rank's process took on one GPU."""

    device: Device
    bytes: int  # held at the end
    peak: int  # most that was held
    placed: Sequence[Event]  # the first placements on it, oldest first
    def __init__(
        self,
        *,
        device: Device | str = ...,
        bytes: int = ...,
        peak: int = ...,
        placed: Sequence[Event] = ...,
    ) -> None: ...

class Collective:
    """The last collective of a rank in one process group."""

    group: str  # "default" or its name
    members: Sequence[int]  # ranks of the job that are in the group; none: all
    sequence: int  # counts the group's collectives; 0: not known
    name: str  # "all_reduce"
    shapes: Sequence[Sequence[int]]  # of its tensors
    bytes: int
    dtype: str
    device: Device
    since: float  # when it was entered, seconds of the wall clock; 0: not known
    finished: bool  # the rank has left it
    where: Frame  # the program's line
    through: str  # where the library is that called, between the two: "accelerate/utils/operations.py:320"
    condition: str  # the test under which the line stands, where that is about ranks: "rank == 0"
    condition_at: str  # the line below it, "train.py:33", where that is of a caller; "" where it is the line itself
    def __init__(
        self,
        *,
        group: str = ...,
        members: Sequence[int] = ...,
        sequence: int = ...,
        name: str = ...,
        shapes: Sequence[Sequence[int]] = ...,
        bytes: int = ...,
        dtype: str = ...,
        device: Device | str = ...,
        since: float = ...,
        finished: bool = ...,
        where: Frame = ...,
        through: str = ...,
        condition: str = ...,
        condition_at: str = ...,
    ) -> None: ...

class OwnFinding:
    """A finding that a rank made by itself, as far as the ranks' are compared."""

    code: str
    cause: str  # as Finding::cause
    title: Message
    kind: SentenceKind  # of the failure that it is about
    sentence: str
    severity: Severity
    placed: Sequence[Frame]  # the lines that placed its operands
    devices: Sequence[Device]  # of its operands
    def __init__(
        self,
        *,
        code: str = ...,
        cause: str = ...,
        title: str = ...,
        kind: SentenceKind = ...,
        sentence: str = ...,
        severity: Severity = ...,
        placed: Sequence[Frame] = ...,
        devices: Sequence[Device | str] = ...,
    ) -> None: ...

class RankFacts:
    """Everything that is known of one rank when its job is looked at. Plain data: no tensor, no Python."""

    process: Process
    host: str  # name of its machine
    gpus: Sequence[str]  # names of the GPUs that it sees, by ordinal; the same for the same GPU
    backend: str  # of the default process group: "nccl"; "" without one
    group_made: Frame  # the program's line that made the process group, for an edit
    models: Sequence[RankModel]  # the one that is trained first
    memory: Sequence[RankMemory]  # GPUs that it took memory on
    collectives: Sequence[Collective]  # its last one in each group; one that it waits in first
    end: RankEnd
    exit_code: int  # of kExited
    signal: int  # of kKilled
    ended: float  # when, seconds of the wall clock; 0: not known
    error: str  # of kRaised: "ValueError"
    sentence: str  # its first line
    where: Frame  # the program's line that raised; of one that was terminated: where it was
    in_collective: bool  # the exception came out of a call of torch.distributed
    peer_failed: bool  # the exception says that a peer rank is gone or does not come
    findings: Sequence[OwnFinding]
    def __init__(
        self,
        *,
        process: Process = ...,
        host: str = ...,
        gpus: Sequence[str] = ...,
        backend: str = ...,
        group_made: Frame = ...,
        models: Sequence[RankModel] = ...,
        memory: Sequence[RankMemory] = ...,
        collectives: Sequence[Collective] = ...,
        end: RankEnd = ...,
        exit_code: int = ...,
        signal: int = ...,
        ended: float = ...,
        error: str = ...,
        sentence: str = ...,
        where: Frame = ...,
        in_collective: bool = ...,
        peer_failed: bool = ...,
        findings: Sequence[OwnFinding] = ...,
    ) -> None: ...

class RankFinding:
    """A finding about a job: a finding, and the ranks that it is about."""

    finding: Finding
    ranks: Sequence[int]  # those whose cause it is, in order
    site_ranks: Sequence[Sequence[int]]  # for each of the finding's sites who was there; empty: `ranks` were
    victims: Sequence[Message]  # what it did to the others, a line each
    of_rank: int  # the rank whose own finding this is; -1: it is the job's
    of_finding: int  # the number of that finding
    shown_rank: int  # of the job's: the rank whose own finding tells what failed by it; -1: nothing did
    shown_finding: int  # the number of that one
    def __init__(
        self,
        *,
        finding: Finding = ...,
        ranks: Sequence[int] = ...,
        site_ranks: Sequence[Sequence[int]] = ...,
        victims: Sequence[str] = ...,
        of_rank: int = ...,
        of_finding: int = ...,
        shown_rank: int = ...,
        shown_finding: int = ...,
    ) -> None: ...
