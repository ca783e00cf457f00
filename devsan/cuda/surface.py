"""Puts the emulated CUDA under torch's Python files, and takes it away again."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import torch
import torch.cuda

from devsan.cuda import (
    attention,
    build,
    collectives,
    comm,
    compiler,
    custom_operators,
    deepspeed_operators,
    dlpack,
    ipc,
    nccl,
    profiler,
    refused,
    storages,
    streams,
    tensor_types,
    tensors,
)
from devsan.cuda.devices import Devices
from devsan.cuda.imports import AfterImport
from devsan.cuda.libraries import Libraries
from devsan.cuda.memory import Memory
from devsan.cuda.nvml.module import LIBRARY, Nvml
from devsan.cuda.patches import Patches
from devsan.cuda.profiler import Nvtx
from devsan.cuda.properties import DeviceProperties
from devsan.cuda.rebinding import rebind
from devsan.cuda.runtime import CudaRuntime
from devsan.profiles import DeviceSpec

# What torch.cuda's own code changes while it runs: as before once the emulation has ended.
_STATE = ("_initialized", "_cached_device_count", "default_generators", "_queued_calls")


class Surface:
    """The names of ``torch._C`` that torch.cuda stands on, for GPUs that ``devsan._core`` already emulates."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._imports: AfterImport | None = None
        self._nvml: Nvml | None = None
        self._fused_on_gpus: bool | None = None

    def install(
        self, machine: Sequence[DeviceSpec], on_use: Callable[[Sequence[int]], None], on_group: Callable[[], None]
    ) -> None:
        """Makes ``torch.cuda`` show ``machine``, as far as ``CUDA_VISIBLE_DEVICES`` lets it.

        Args:
            machine: all of its GPUs.
            on_use: called when this process begins to use them, with the ordinals of those that it sees.
            on_group: called when a group of processes is made, before it is connected.
        """
        patches = self._patches
        self._reset_state()
        emulated = build.build_for(torch.__version__, machine)
        told = build.install(patches, emulated)
        devices = Devices(machine, emulated.capabilities, patches, on_use)
        functions = devices.names() | streams.names() | Memory().names() | Libraries().names()
        functions |= comm.names() | nccl.names(emulated.nccl) | attention.names()
        functions |= refused.names(functions)
        replaced: dict[int, Any] = {}
        for name, function in functions.items():
            before = patches.set(torch._C, name, function)
            if before is not None:
                replaced[id(before)] = function
        self._set_what_torch_copied(devices, functions)
        replaced |= self._derive_anew(torch.cuda.streams, ("Stream", "ExternalStream", "Event"))
        replaced |= tensor_types.install(patches)
        storages.install(patches)
        tensors.install(patches)
        ipc.install(patches)
        replaced |= dlpack.install(patches)
        replaced |= collectives.install(patches, on_group)
        profiler.install(patches)
        custom_operators.install(patches)
        compiler.install(patches)
        self._fused_on_gpus = compiler.fuse_on_gpus(False)
        refused.refuse_classes(patches)
        LIBRARY.open(machine, emulated, devices.ordinal_of)
        self._nvml = Nvml()
        replaced |= self._nvml.install(patches)
        rebind(patches, replaced)
        self._imports = AfterImport(
            {
                "torch._inductor.compile_fx": lambda module: compiler.change_compile_fx(module, patches),
                "torch._dynamo.backends.cudagraphs": lambda module: compiler.change_cudagraphs(module, patches),
                "deepspeed.ops.op_builder.builder": lambda module: deepspeed_operators.change_builders(module, patches),
                "triton.runtime.jit": lambda module: compiler.change_jit(module, patches),
                **told,
            }
        )
        self._imports.install()

    def remove(self) -> None:
        """Restores every name. A second call does nothing."""
        if self._imports is not None:
            self._imports.remove()
        if self._nvml is not None:
            self._nvml.remove()
        self._patches.undo()
        if self._fused_on_gpus is not None:
            compiler.fuse_on_gpus(self._fused_on_gpus)
            self._fused_on_gpus = None
        torch.cuda._check_bf16_tensor_supported.cache_clear()

    def _reset_state(self) -> None:
        for name in _STATE:
            self._patches.remember(torch.cuda, name)
        # DataParallel's streams for copies: a list as long as the machine that it was made on had GPUs.
        self._patches.set(torch.nn.parallel._functions, "_streams", None)
        torch.cuda._initialized = False
        torch.cuda._cached_device_count = None
        torch.cuda._queued_calls = list(torch.cuda._queued_calls)
        torch.cuda._check_bf16_tensor_supported.cache_clear()

    def _set_what_torch_copied(self, devices: Devices, functions: dict[str, Callable[..., Any]]) -> None:
        """Names that torch copied from ``torch._C``, or found missing there, while it was imported."""
        patches = self._patches
        runtime, nvtx = CudaRuntime(), Nvtx()
        patches.set(torch._C, "_has_cuda", True)
        # nn.RNN asks it for tensors on a GPU, and would call cuDNN's own operators.
        patches.set(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        patches.set(torch._C, "_CudaDeviceProperties", DeviceProperties)
        patches.set(torch._C, "_cudart", runtime)
        patches.set(torch._C, "_nvtx", nvtx)
        patches.set(torch.cuda, "_CudaDeviceProperties", DeviceProperties)
        patches.set(torch.cuda, "_cudart", runtime)
        patches.set(torch.cuda.nvtx, "_nvtx", nvtx)
        patches.set(torch.cuda, "_is_in_bad_fork", functions["_cuda_isInBadFork"])
        patches.set(torch.cuda, "_exchange_device", functions["_cuda_exchangeDevice"])
        patches.set(torch.cuda, "_maybe_exchange_device", functions["_cuda_maybeExchangeDevice"])
        # NVML counts without initializing CUDA, and so does torch.cuda.device_count before the first use of a GPU.
        patches.set(torch.cuda, "_raw_device_count_nvml", devices.machine_size)
        patches.set(torch.cuda, "_raw_device_uuid_nvml", devices.machine_uuids)

    def _derive_anew(self, module: ModuleType, classes: Sequence[str]) -> dict[int, Any]:
        """Makes the classes of one of torch's files again, from its own source, on the bases now in ``torch._C``.

        A class keeps the bases that it found while it was imported, and Python does not let a base be exchanged for a
        C type. Returns the new classes by the ``id`` of the old ones.
        """
        fresh = _execute_again(module)
        return {id(getattr(module, name)): getattr(fresh, name) for name in classes}


def _execute_again(module: ModuleType) -> ModuleType:
    """Returns a second copy of ``module``; ``sys.modules`` keeps the first."""
    spec = module.__spec__
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise ImportError(f"expected {module.__name__} to have its source beside it")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return fresh
