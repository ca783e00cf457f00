"""The patterns of the errors by which torch and the libraries around it refuse a device: a table.

Old ones stay: what is met is the torch that is installed, and on real GPUs as well.
"""

from __future__ import annotations

import functools
import re
from enum import Enum


class Kind(Enum):
    """What a sentence is about; the value is what the title of its report calls it."""

    MIXED = "operands"
    INDEX = "an index"
    GRADIENT = "a gradient"
    MODULE = "a module"
    NUMPY = "a conversion to NumPy"
    HOST = "an argument that is read on the host"
    FORK = "CUDA in a forked process"
    GENERATOR = "a random generator"
    ORDINAL = "a device that is not there"
    MEMORY = "device memory"
    META = "a tensor without data"
    POINTER = "a pointer given to Triton"
    GROUP = "a process group"
    LOAD = "a checkpoint"
    PLACEMENT = "a device map"
    EXPECTED = "an expectation"


_DEVICE = r"[a-z][a-z_0-9]*(?::\d+)?"


class ErrorPattern:
    """One way to refuse a device. Its pattern is compiled when a text has its longest fixed piece: most never are.

    Args:
        kind: what it is about.
        source: a regular expression; DEVICE stands for one device.
    """

    def __init__(self, kind: Kind, source: str) -> None:
        self.kind = kind
        self._source = source
        self._fixed = _fixed_piece(source)

    def search(self, text: str) -> re.Match[str] | None:
        """Returns where ``text`` has it."""
        return self._pattern.search(text) if self._fixed in text else None

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._source.replace("DEVICE", _DEVICE))


def _fixed_piece(source: str) -> str:
    """The longest piece of ``source`` that every match has: outside of brackets, not optional, no special letter."""
    pieces = [""]
    depth, before = 0, ""
    for each in source:
        if before == "\\":
            pieces.append("")
        elif each in "([{":
            depth += 1
            pieces.append("")
        elif each in ")]}":
            depth -= 1
        elif each in "?*+":
            pieces[-1] = pieces[-1][:-1]
            pieces.append("")
        elif each == "|" and depth == 0:
            return ""
        elif each in ".|^$\\":
            pieces.append("")
        elif depth == 0:
            pieces[-1] += each
        before = "" if before == "\\" else each
    return max(pieces, key=len).partition("DEVICE")[0]


# Groups: offending and common are devices, argument and op as in Sentence; any other name is a figure. The first that
# fits.
ERROR_PATTERNS: tuple[ErrorPattern, ...] = tuple(
    ErrorPattern(kind, source)
    for kind, source in (
        # c10/core/impl/DeviceGuardImplInterface and the check that torchgen writes, from torch 2.9 on
        (
            Kind.MIXED,
            r"Expected all tensors to be on the same device, but got (?P<argument>\w+) is on (?P<offending>DEVICE), "
            r"different from other tensors on (?P<common>DEVICE)(?: \(when checking argument in method (?P<op>\w+)\))?",
        ),
        # the same before 2.9; TensorIterator's to this day, which names no argument
        (
            Kind.MIXED,
            r"Expected all tensors to be on the same device, but found at least two devices, (?P<common>DEVICE) and "
            r"(?P<offending>DEVICE)!"
            r"(?: \(when checking argument for argument (?P<argument>\w+) in method (?P<op>\w+)\))?",
        ),
        (
            Kind.MIXED,
            r"expected self and mask to be on the same device, but got (?P<argument>mask) on (?P<offending>DEVICE) "
            r"and self "
            r"on (?P<common>DEVICE)",
        ),
        (
            Kind.INDEX,
            r"indices should be either on (?:cpu|CPU) or on the same device as the indexed tensor "
            r"\((?P<common>DEVICE)\)",
        ),
        (
            Kind.MIXED,
            r"(?P<first>Input type) \((?P<first_type>[\w.]+)\) and (?P<second>weight|bias) type "
            r"\((?P<second_type>[\w.]+)\) should be the same",
        ),
        # torch 1.x
        (
            Kind.MIXED,
            r"Expected object of (?:device type|backend) (?P<common>\w+) but got "
            r"(?:device type|backend) (?P<offending>\w+) "
            r"for (?:sequence element \d+ in sequence )?argument #\d+ '(?P<argument>\w+)'"
            r"(?: in call to (?P<call>\w+))?",
        ),
        (
            Kind.MIXED,
            r"All input tensors must be on the same device\. Received (?P<common>DEVICE) and (?P<offending>DEVICE)",
        ),
        (Kind.MIXED, r"arguments are located on different GPUs"),
        (Kind.MIXED, r"all tensors must be on devices\[0\](?:: (?P<common>\d+))?"),
        (Kind.MIXED, r"Expected tensor for argument #\d+ '(?P<argument>\w+)' to have the same device as tensor .*"),
        # torch.compile and FakeTensorMode
        (
            Kind.MIXED,
            r"Unhandled FakeTensor Device Propagation for (?P<op>[\w.:]+), found two different devices "
            r"(?P<common>DEVICE), (?P<offending>DEVICE)",
        ),
        (
            Kind.GRADIENT,
            r"Function (?P<function>\w+) returned an invalid gradient at index (?P<index>\d+) - expected device "
            r"(?P<common>DEVICE) but got (?P<offending>DEVICE)",
        ),
        # of what autograd.grad or backward is given: torch/csrc/autograd/engine.cpp, validate_outputs
        (
            Kind.GRADIENT,
            r"invalid gradient at index (?P<index>\d+) - expected device (?P<common>DEVICE) but got "
            r"(?P<offending>DEVICE)",
        ),
        (
            Kind.GRADIENT,
            r"attempting to assign a gradient (?:located on device with index|with device type) "
            r"'(?P<offending>[\w:]+)' to a tensor (?:located on device with index|with device type) "
            r"'(?P<common>[\w:]+)'.*",
        ),
        (  # torch writes the two indices as bytes, and the sentence ends at the first that is zero
            Kind.GRADIENT,
            r"attempting to assign a gradient located on device with index '[\x01-\x1f]?"
            r"(?:' to a tensor located on device with index '[\x01-\x1f]?.*)?",
        ),
        (
            Kind.MODULE,
            r"module must have its parameters and buffers on device (?P<common>DEVICE) \(device_ids\[0\]\) but found "
            r"one of them on device: (?P<offending>DEVICE)",
        ),
        # what a function reads on the host: ATen/native/PackedSequence.cpp, TensorShape.cpp, torch/nn/utils/rnn.py
        (
            Kind.HOST,
            r"'(?P<argument>lengths)' argument should be a 1D (?P<common>CPU) int64 tensor, but got \d+D "
            r"(?P<offending>DEVICE) \w+ tensor",
        ),
        (
            Kind.HOST,
            r"tensor_split expected (?P<argument>tensor_indices_or_sections) to be on (?P<common>cpu), but it's on "
            r"(?P<offending>DEVICE)",
        ),
        (Kind.HOST, r"(?P<argument>batch_sizes) should always be on (?P<common>CPU)\..*"),
        (Kind.HOST, r"cannot pin '[\w.]+' only (?:dense )?(?P<common>CPU) tensors can be pinned"),
        # ATen/core/Generator.h, check_rng_state
        (Kind.HOST, r"RNG state must be a torch\.ByteTensor"),
        # torch/cuda/__init__.py, _lazy_init
        (Kind.FORK, r"Cannot re-initialize CUDA in forked subprocess.*"),
        (Kind.NUMPY, r"can't convert (?P<offending>DEVICE) device type tensor to numpy\b.*"),
        (Kind.GENERATOR, r"Expected an? '(?P<common>\w+)' device type for generator but found '(?P<offending>\w+)'"),
        (Kind.GENERATOR, r"Cannot generate a (?P<common>\w+) tensor from a generator of type (?P<offending>\w+)\.?"),
        (Kind.ORDINAL, r"CUDA error: invalid device ordinal"),
        (Kind.ORDINAL, r"Invalid device (?:id|argument \d+)(?::.*)?$"),
        # no GPU at all: torch/cuda/__init__.py, c10/cuda/CUDAFunctions.cpp
        (Kind.ORDINAL, r"Torch not compiled with CUDA enabled"),
        (Kind.ORDINAL, r"No CUDA GPUs are available"),
        (Kind.ORDINAL, r"Found no NVIDIA driver on your system\..*"),
        (
            Kind.MEMORY,
            r"CUDA out of memory\. Tried to allocate (?P<requested>[\d.]+ \w+)\. GPU (?P<gpu>\d+) has a total capacity "
            r"of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free\..*",
        ),
        (
            Kind.MEMORY,
            r"CUDA out of memory\. Tried to allocate (?P<requested>[\d.]+ \w+) \(GPU (?P<gpu>\d+); "
            r"(?P<total>[\d.]+ \w+) total capacity;(?:.*?; )?(?P<free>[\d.]+ \w+) free.*",
        ),
        (Kind.MEMORY, r"CUDA (?:error: )?out of memory.*"),
        (Kind.META, r"Cannot copy out of meta tensor; no data!.*"),
        (Kind.META, r"\S+ is on the meta device, we need a `value` to put in on .+"),
        (Kind.MIXED, r"Tensor on device (?P<offending>DEVICE) is not on the expected device (?P<common>DEVICE)!"),
        (Kind.POINTER, r"Pointer argument \(at (?P<index>\d+)\) cannot be accessed from Triton \(cpu tensor\?\).*"),
        (
            Kind.GROUP,
            r"Duplicate GPU detected ?: rank (?P<first>\d+) and rank (?P<second>\d+) both on CUDA device (?P<bus>\w+)",
        ),
        (Kind.GROUP, r"Tensors must be CUDA and dense"),
        (Kind.GROUP, r"No backend type associated with device type (?P<offending>\w+)"),
        (
            Kind.LOAD,
            r"Attempting to deserialize object on CUDA device (?P<gpu>\d+) but torch\.cuda\.device_count\(\) is "
            r"(?P<count>\d+).*",
        ),
        (
            Kind.MIXED,
            r"Calculated loss must be on the original device: (?P<common>DEVICE) but device in use is "
            r"(?P<offending>DEVICE)",
        ),
        (
            Kind.PLACEMENT,
            r"You can't train a model that has been loaded with `?device_map='auto'`? in any distributed "
            r"mode.*",
        ),
        (Kind.PLACEMENT, r"The device_map provided does not give any device for the following parameters: .*"),
        (Kind.PLACEMENT, r".*\bis not compatible with passing a `?device_map`?.*"),
        (
            Kind.PLACEMENT,
            r"DistributedDataParallel device_ids and output_device arguments only work with .*",
        ),
        (Kind.PLACEMENT, r"You can't move a model that has some modules offloaded to cpu or disk.*"),
        # torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py
        (Kind.PLACEMENT, r"FSDP parameters should be materialized on CPU when enabling CPU offloading\..*"),
        # transformers/pipelines/base.py
        (
            Kind.PLACEMENT,
            r"The model has been loaded with `accelerate` and therefore cannot be moved to a specific device.*",
        ),
        # diffusers/pipelines/pipeline_utils.py
        (Kind.PLACEMENT, r"It seems like you have activated a device mapping strategy on the pipeline .*"),
        (Kind.PLACEMENT, r"It seems like you have activated sequential model offloading by calling .*"),
        # transformers/modeling_utils.py, accelerate/accelerator.py
        (Kind.PLACEMENT, r"`\.to` is not supported for `?[48]-bit.*"),
        (Kind.PLACEMENT, r"Calling `cuda\(\)` is not supported for `[48]-bit` quantized models.*"),
        (
            Kind.PLACEMENT,
            r"You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than.*",
        ),
        # the kernels' own checks, which all say it a little differently: grid_sampler, index_copy_, dot, stft, ...
        (
            Kind.MIXED,
            r"(?i:to be [oi]n|must (?:all )?be on|should be (?:placed )?on|need to be on|have) (?i:the )?"
            r"same device\b.*",
        ),
        (Kind.MIXED, r"Found two parameters on different devices.*"),
        # aten/src/ATen/native/Resize.h, checkSetStorage
        (
            Kind.MIXED,
            r'Attempted to set the storage of a tensor on device "(?P<common>DEVICE)" to a storage on different device '
            r'"(?P<offending>DEVICE)"\..*',
        ),
        # What an H100 said to calls on mixed devices (docs/reference/gpu-parity.md): aten/src/ATen/native/Resize.cpp,
        # RNN.cpp, TensorIterator.cpp, cuda/Loops.cuh, cuda/PointwiseOpsKernel.cu, cuda/ForeachBinaryOpScalarTensor.cu,
        # cuda/FusedAdamKernel.cu, ATen/TensorUtils.cpp and others
        (
            Kind.MIXED,
            r"Expected out tensor to have device (?P<common>DEVICE), but got (?P<offending>DEVICE) instead",
        ),
        (
            Kind.MIXED,
            r"Input and (?P<argument>hidden|parameter) tensors are not at the same device, found input tensor at "
            r"(?P<common>DEVICE) and (?:hidden|parameter) tensor at (?P<offending>DEVICE)",
        ),
        (Kind.MIXED, r"Trying to pass too many CPU scalars to non-CPU kernel!"),
        (Kind.MIXED, r"argument (?P<number>\d+): expected a CUDA device but found (?P<offending>DEVICE)"),
        (Kind.MIXED, r"CPU Scalar support for (?P<argument>\w+) argument is not supported when calling \w+ on CUDA.*"),
        (
            Kind.MIXED,
            r"Expected tensor to have (?P<common>DEVICE) Device(?:Type)?, but got tensor with (?P<offending>DEVICE) "
            r"Device(?:Type)? \(while checking arguments for .*",
        ),
        (Kind.MIXED, r"scalar tensor (?:is )?expected to be on (?P<common>DEVICE) but is on (?P<offending>DEVICE)"),
        (Kind.MIXED, r"(?P<argument>grad_scale|found_inf|lr) must be on the same GPU device as the params"),
        (Kind.MIXED, r"(?P<argument>\w+)\)? must be a CUDA tensor"),
        (
            Kind.MIXED,
            r"device of (?P<argument>\w+) \(=(?P<offending>DEVICE)\) must match device of \w+ \(=(?P<common>DEVICE)\)",
        ),
        (Kind.MIXED, r"expected out tensor to be on device (?P<common>DEVICE) but got (?P<offending>DEVICE)"),
        (
            Kind.MIXED,
            r"expected device '?(?P<common>DEVICE)'? but (?:got|found) (?:device )?'?(?P<offending>DEVICE)'?"
            r"(?: for (?P<argument>\w+) (?:tensor|output))?",
        ),
        (Kind.HOST, r"(?P<argument>batch_sizes) tensor should be on (?P<common>CPU), but got (?P<offending>DEVICE)"),
        (Kind.HOST, r"Expected (?P<argument>scalars) to be on (?P<common>CPU), got (?P<offending>DEVICE) instead"),
    )
)
