"""Features of CUDA that are not emulated: each name answers with one sentence, none with a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import torch

from devsan.cuda.patches import Patches

# By the beginning of their names in torch._C.
_FEATURES = {
    "_cuda_tunableop_": "TunableOp is",
    "_cuda_record_untuned_": "TunableOp is",
    "_cuda_jiterator_": "the jiterator is",
    "_cuda_beginAllocate": "memory pools are",
    "_cuda_endAllocate": "memory pools are",
    "_cuda_releasePool": "memory pools are",
    "_cuda_checkPoolLiveAllocations": "memory pools are",
    "_cuda_getCheckpointState": "memory pools are",
    "_cuda_setCheckpointPoolState": "memory pools are",
    "_cuda_customAllocator": "pluggable allocators are",
    "_cuda_changeCurrentAllocator": "pluggable allocators are",
    "_cuda_getAllocator": "pluggable allocators are",
    "_cuda_attach_out_of_memory_observer": "out-of-memory observers are",
    "_gds_": "GPUDirect Storage is",
    "_nccl_init_rank": "communicators of torch.cuda.nccl are",
    "_nccl_": "torch.cuda.nccl is",
}
# The names that a CPU build lacks and torch.cuda's Python files call.
_NAMES = (
    "_cuda_jiterator_compile_and_launch_kernel",
    "_cuda_attach_out_of_memory_observer",
    "_cuda_customAllocator",
    "_cuda_changeCurrentAllocator",
    "_cuda_getAllocator",
    "_cuda_record_untuned_enable",
    "_cuda_tunableop_enable",
    "_cuda_tunableop_tuning_enable",
    "_cuda_tunableop_read_file",
    "_cuda_tunableop_set_filename",
    "_cuda_tunableop_set_max_tuning_duration",
    "_cuda_tunableop_get_max_tuning_duration",
    "_cuda_tunableop_set_max_tuning_iterations",
    "_cuda_tunableop_get_max_tuning_iterations",
    "_cuda_tunableop_set_numerical_check_tolerances",
    "_cuda_tunableop_set_rotating_buffer_size",
    "_cuda_tunableop_get_rotating_buffer_size",
    "_cuda_beginAllocateToPool",
    "_cuda_beginAllocateCurrentThreadToPool",
    "_cuda_beginAllocateCurrentStreamToPool",
    "_cuda_endAllocateToPool",
    "_cuda_releasePool",
    "_nccl_init_rank",
)
# Classes of torch.cuda: refused when an object is made.
_CLASSES = {
    "torch.cuda.graphs.CUDAGraph": "CUDA graphs are",
    "torch.cuda.memory.MemPool": "memory pools are",
}
# Functions of torch.cuda that go on to a library of CUDA's by themselves.
_FUNCTIONS = {"_compile_kernel": "NVRTC is"}
# What asks whether a feature is on is answered, not refused.
_ANSWERS: dict[str, Any] = {
    "_cuda_tunableop_is_enabled": False,
    "_cuda_tunableop_tuning_is_enabled": False,
    "_cuda_record_untuned_is_enabled": False,
    "_cuda_tunableop_get_results": (),
    "_cuda_tunableop_get_validators": (),
    "_cuda_tunableop_get_filename": "",
}
# Of NCCL's names these use no GPU, and a CUDA build keeps them.
_KEPT = frozenset({"_nccl_version", "_nccl_version_suffix", "_cuda_CUDAAllocator", "_cuda_getHipblasltVersion"})


def refuse(subject: str) -> NoReturn:
    """Raises the sentence for a feature, given with its verb: "CUDA graphs are"."""
    raise NotImplementedError(f"devsan: {subject} not emulated; see docs/limits.md")


def names(provided: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """The functions for ``torch._C``: those above, and every CUDA function of this build that nobody provides."""
    present = {name for name in vars(torch._C) if name.startswith(("_cuda_", "_nccl_", "_gds_"))}
    refused = {name: _refusing(name) for name in (present | set(_NAMES)) - set(provided) - _KEPT}
    return refused | {name: _answering(answer) for name, answer in _ANSWERS.items()}


def refuse_classes(patches: Patches) -> None:
    """Makes torch.cuda's classes of such features refuse to be instantiated, and its functions to be called."""
    for path, subject in _CLASSES.items():
        module_name, _, class_name = path.rpartition(".")
        module: Any = torch.cuda
        for part in module_name.removeprefix("torch.cuda").split("."):
            module = getattr(module, part, None) if part else module
        patches.set(getattr(module, class_name), "__new__", _refusing_class(subject))
    for name, subject in _FUNCTIONS.items():
        if hasattr(torch.cuda, name):
            patches.set(torch.cuda, name, _refusing_function(subject))
    contexts = getattr(torch.cuda, "green_contexts", None)  # younger than the oldest torch that DevSan knows
    if contexts is not None and hasattr(contexts, "SUPPORTED"):
        patches.set(contexts, "SUPPORTED", False)  # torch has a sentence of its own


def _refusing(name: str) -> Callable[..., NoReturn]:
    return _refusing_function(
        next((text for start, text in _FEATURES.items() if name.startswith(start)), f"torch._C.{name} is")
    )


def _refusing_function(subject: str) -> Callable[..., NoReturn]:
    def refused(*args: object, **kwargs: object) -> NoReturn:
        refuse(subject)

    return refused


def _refusing_class(subject: str) -> Any:
    def __new__(cls: type, *args: object, **kwargs: object) -> NoReturn:
        refuse(subject)

    return staticmethod(__new__)


def _answering(answer: Any) -> Callable[..., Any]:
    return lambda *args: answer
