"""Every wording in which a device is refused is recognized, on emulated and on real GPUs, and nothing else is."""

from __future__ import annotations

import pytest

from devsan.introspect.frames.error_match import recognize
from devsan.introspect.frames.error_patterns import Kind

SAME = "Expected all tensors to be on the same device, but "
MESSAGES: list[tuple[str, Kind, tuple[str, ...], str | None, str | None]] = [
    (
        SAME + "got mat2 is on cpu, different from other tensors on cuda:1 (when checking argument in method "
        "wrapper_CUDA_mm)",
        Kind.MIXED, ("cuda:1", "cpu"), "mat2", "aten::mm",
    ),
    (
        SAME + "got index is on cuda:0, different from other tensors on cuda:1 (when checking argument in method "
        "wrapper_CUDA__index_select)",
        Kind.MIXED, ("cuda:1", "cuda:0"), "index", "aten::index_select",
    ),
    (SAME + "found at least two devices, cuda:1 and cuda:0!", Kind.MIXED, ("cuda:1", "cuda:0"), None, None),
    (
        SAME + "found at least two devices, cuda:0 and cpu! (when checking argument for argument target in method "
        "wrapper_CUDA_nll_loss_forward)",
        Kind.MIXED, ("cuda:0", "cpu"), "target", "aten::nll_loss_forward",
    ),
    (
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:1",
        Kind.MIXED, ("cuda:1", "cpu"), "mask", None,
    ),
    (
        "indices should be either on cpu or on the same device as the indexed tensor (cuda:1)",
        Kind.INDEX, ("cuda:1",), None, None,
    ),
    (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
        Kind.MIXED, ("cuda", "cpu"), "input", None,
    ),
    (
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same or input should be "
        "a MKLDNN tensor and weight is a dense tensor",
        Kind.MIXED, ("cuda", "cpu"), "weight", None,
    ),
    (
        "Expected object of device type cuda but got device type cpu for argument #2 'mat1' in call to _th_addmm",
        Kind.MIXED, ("cuda", "cpu"), "mat1", None,
    ),
    (
        "Expected object of backend CPU but got backend CUDA for argument #4 'mat1'",
        Kind.MIXED, ("cpu", "cuda"), "mat1", None,
    ),
    (
        "All input tensors must be on the same device. Received cuda:0 and cuda:1",
        Kind.MIXED, ("cuda:0", "cuda:1"), None, None,
    ),
    ("Expected out tensor to have device cuda:0, but got cpu instead", Kind.MIXED, ("cuda:0", "cpu"), None, None),
    (
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
        Kind.MIXED, ("cuda:0", "cpu"), "hidden", None,
    ),
    (
        "Input and parameter tensors are not at the same device, found input tensor at cpu and parameter tensor at "
        "cuda:0",
        Kind.MIXED, ("cpu", "cuda:0"), "parameter", None,
    ),
    ("Trying to pass too many CPU scalars to non-CPU kernel!", Kind.MIXED, (), None, None),
    (
        'iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at "/pytorch/aten/src/ATen/native/cuda/Loops.cuh":109, '
        "please report a bug to PyTorch. argument 2: expected a CUDA device but found cpu",
        Kind.MIXED, ("cpu",), None, None,
    ),
    (
        "CPU Scalar support for tensor1 argument is not supported when calling addcmul on CUDA tensors. However, CPU "
        "Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms.",
        Kind.MIXED, (), "tensor1", None,
    ),
    (
        "Expected tensor to have cuda DeviceType, but got tensor with cpu DeviceType (while checking arguments for "
        "inner())",
        Kind.MIXED, ("cuda", "cpu"), None, None,
    ),
    ("scalar tensor expected to be on cuda:0 but is on cpu", Kind.MIXED, ("cuda:0", "cpu"), None, None),
    ("found_inf must be on the same GPU device as the params", Kind.MIXED, (), "found_inf", None),
    ("grad_out must be a CUDA tensor", Kind.MIXED, (), "grad_out", None),
    (
        "device of crow_indices (=cpu) must match device of values (=cuda:0)",
        Kind.MIXED, ("cuda:0", "cpu"), "crow_indices", None,
    ),
    ("multi_dot(): expected out tensor to be on device cuda:0 but got cpu", Kind.MIXED, ("cuda:0", "cpu"), None, None),
    ("expected device cuda:0 but got device cpu for value tensor", Kind.MIXED, ("cuda:0", "cpu"), "value", None),
    ("expected device 'cuda:0' but got 'cpu' for values output", Kind.MIXED, ("cuda:0", "cpu"), "values", None),
    ("batch_sizes tensor should be on CPU, but got cuda:0", Kind.HOST, ("cpu", "cuda:0"), "batch_sizes", None),
    ("Expected scalars to be on CPU, got cuda:0 instead.", Kind.HOST, ("cpu", "cuda:0"), "scalars", None),
    (
        'Attempted to set the storage of a tensor on device "cuda:1" to a storage on different device "cuda:0".  This '
        "is no longer allowed; the devices must match.",
        Kind.MIXED, ("cuda:1", "cuda:0"), None, None,
    ),
    ("arguments are located on different GPUs at /pytorch/aten/THC", Kind.MIXED, (), None, None),
    ("all tensors must be on devices[0]: 0", Kind.MIXED, ("cuda:0",), None, None),
    (
        "grid_sampler(): expected input and grid to be on same device, but input is on cuda:0 and grid is on cpu",
        Kind.MIXED, ("cuda:0", "cpu"), None, None,
    ),
    (
        "index_copy_(): self, index and source expected to be in the same device, but got (self) cuda:0, (index) cpu, "
        "and (source) cuda:0",
        Kind.MIXED, ("cuda:0", "cpu"), None, None,
    ),
    ("Attention bias and Query/Key/Value should be on the same device", Kind.MIXED, (), None, None),
    (
        "Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two different devices cuda:0, cpu",
        Kind.MIXED, ("cuda:0", "cpu"), None, "aten::add",
    ),
    (
        "Calculated loss must be on the original device: cuda:0 but device in use is cuda:1",
        Kind.MIXED, ("cuda:0", "cuda:1"), None, None,
    ),
    (
        "Tensor on device cuda:0 is not on the expected device meta!",
        Kind.MIXED, ("meta", "cuda:0"), None, None,
    ),
    (
        "Function AddBackward0 returned an invalid gradient at index 1 - expected device cuda:0 but got cuda:1",
        Kind.GRADIENT, ("cuda:0", "cuda:1"), None, None,
    ),
    (
        "attempting to assign a gradient located on device with index '1' to a tensor located on device with index "
        "'0'. Please ensure that the gradient and the tensor are on the same device",
        Kind.GRADIENT, ("cuda:0", "cuda:1"), None, None,
    ),
    (
        "attempting to assign a gradient located on device with index '",
        Kind.GRADIENT, (), None, None,
    ),
    (
        "attempting to assign a gradient located on device with index '\x01' to a tensor located on device with index "
        "'",
        Kind.GRADIENT, (), None, None,
    ),
    (
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: "
        "cuda:1",
        Kind.MODULE, ("cuda:0", "cuda:1"), None, None,
    ),
    (
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
        Kind.NUMPY, ("cuda:0",), None, None,
    ),
    (
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
        Kind.HOST, ("cpu", "cuda:0"), "lengths", None,
    ),
    (
        "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:1",
        Kind.HOST, ("cpu", "cuda:1"), "tensor_indices_or_sections", None,
    ),
    (
        "invalid gradient at index 0 - expected device cuda:0 but got cpu",
        Kind.GRADIENT, ("cuda:0", "cpu"), None, None,
    ),
    ("RNG state must be a torch.ByteTensor", Kind.HOST, (), None, None),
    (
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method",
        Kind.FORK, (), None, None,
    ),
    ("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned", Kind.HOST, ("cpu",), None, None),
    ("Expected a 'cuda' device type for generator but found 'cpu'", Kind.GENERATOR, ("cuda", "cpu"), None, None),
    ("Cannot generate a cpu tensor from a generator of type cuda.", Kind.GENERATOR, ("cpu", "cuda"), None, None),
    ("Torch not compiled with CUDA enabled", Kind.ORDINAL, (), None, None),
    ("No CUDA GPUs are available", Kind.ORDINAL, (), None, None),
    ("Found no NVIDIA driver on your system. Please check that", Kind.ORDINAL, (), None, None),
    ("CUDA error: invalid device ordinal\nGPU device may be out of range", Kind.ORDINAL, (), None, None),
    ("Invalid device id", Kind.ORDINAL, (), None, None),
    (
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 1 has a total capacity of 23.69 GiB of which 19.94 MiB is"
        " free. Process 3 has 23.60 GiB memory in use.",
        Kind.MEMORY, ("cuda:1",), None, None,
    ),
    (
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity; 22.55 GiB already allocated;"
        " 19.94 MiB free; 22.68 GiB reserved in total by PyTorch)",
        Kind.MEMORY, ("cuda:0",), None, None,
    ),
    ("CUDA error: out of memory", Kind.MEMORY, (), None, None),
    ("Cannot copy out of meta tensor; no data!", Kind.META, ("meta",), None, None),
    ("Pointer argument (at 3) cannot be accessed from Triton (cpu tensor?)", Kind.POINTER, (), None, None),
    (
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 81000",
        Kind.GROUP, (), None, None,
    ),
    ("Tensors must be CUDA and dense", Kind.GROUP, (), None, None),
    ("No backend type associated with device type cpu", Kind.GROUP, ("cpu",), None, None),
    (
        "Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 2. Please use torch.load "
        "with map_location to map your storages to an existing device.",
        Kind.LOAD, ("cuda:3",), None, None,
    ),
    (
        "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode.",
        Kind.PLACEMENT, (), None, None,
    ),
    (
        "The device_map provided does not give any device for the following parameters: lm_head.weight",
        Kind.PLACEMENT, (), None, None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("message", "kind", "devices", "argument", "op"), MESSAGES)
def test_a_wording(message: str, kind: Kind, devices: tuple[str, ...], argument: str | None, op: str | None) -> None:
    sentence = recognize(message)
    assert sentence is not None
    assert (sentence.kind, sentence.devices, sentence.argument, sentence.op) == (kind, devices, argument, op)
    assert sentence.text == message.split("\n")[0]


@pytest.mark.parametrize("message", [message for message, *_ in MESSAGES])
def test_a_wrapper_keeps_the_sentence_intact(message: str) -> None:
    wrapped = (
        "Caught RuntimeError in replica 0 on device 0.\nOriginal Traceback (most recent call last):\n"
        f'  File "x.py", line 3, in forward\n    return a + b\nRuntimeError: {message}\n'
    )
    sentence = recognize(wrapped)
    assert sentence is not None
    assert sentence.text == message.split("\n")[0]


@pytest.mark.parametrize(
    "message",
    [
        "",
        "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same",
        "expected scalar type Float but found Half",
        "CUDA error: device-side assert triggered",
        "No space left on device",
    ],
)
def test_other_errors_are_left_alone(message: str) -> None:
    assert recognize(message) is None
