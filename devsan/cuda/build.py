"""The build of torch with CUDA that an emulation stands for, where the installed torch is one for the CPU.

Programs read its versions, and die of a None: ``torch.version.cuda.split(".")``. A build with CUDA keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from devsan.cuda.imports import Change
from devsan.cuda.patches import Patches
from devsan.profiles import DeviceSpec

_Version = tuple[int, int, int]


@dataclass(frozen=True)
class CudaBuild:
    """The versions that torch was built with, the oldest driver that runs it, and the GPUs that it has kernels for."""

    cuda: str
    cudnn: _Version
    nccl: _Version
    cusparselt: _Version
    driver: str = "580.65.06"
    capabilities: tuple[int, ...] = (75, 80, 86, 90, 100, 120)


# The requirements of torch's wheels for Linux on PyPI, by release (`pip install --dry-run --report`); drivers are from
# the release notes of the CUDA toolkit.
_BUILDS = {
    (2, 11): CudaBuild("13.0", (9, 19, 0), (2, 28, 9), (0, 8, 0)),
    (2, 12): CudaBuild("13.0", (9, 20, 0), (2, 29, 7), (0, 8, 1)),
    (2, 13): CudaBuild("13.0", (9, 20, 0), (2, 29, 7), (0, 8, 1)),
    (2, 14): CudaBuild("13.0", (9, 24, 0), (2, 30, 7), (0, 8, 1)),
    (2, 15): CudaBuild("13.2", (9, 26, 0), (2, 30, 7), (0, 8, 1), "595.45.04"),
}
# For older GPUs there are the wheels for CUDA 12.6, with the last cuDNN that knows them: CUDA 13 and cuDNN 9.11 begin
# with 7.5 (torch/backends/cudnn/__init__.py).
_OLDEST = 75
_FOR_OLDER = {
    "cuda": "12.6", "cudnn": (9, 10, 2), "driver": "560.35.05", "capabilities": (50, 60, 70, 75, 80, 86, 90),
}  # fmt: skip


def build_for(release: str, machine: Sequence[DeviceSpec]) -> CudaBuild:
    """Returns the build that ``release`` ("2.13.0+cpu") of torch is installed as by default, or the nearest known one.

    The GPUs of the machine are among those that it has kernels for.
    """
    major, minor = (int(part) for part in release.split(".")[:2])
    build = _BUILDS[min(_BUILDS, key=lambda known: (abs(known[0] - major), abs(known[1] - minor)))]
    present = {10 * spec.major + spec.minor for spec in machine}
    if min(present, default=_OLDEST) < _OLDEST:
        build = replace(build, **_FOR_OLDER)  # type: ignore[arg-type]
    return replace(build, capabilities=tuple(sorted({*build.capabilities, *present})))


def install(patches: Patches, build: CudaBuild) -> dict[str, Change]:
    """Makes torch tell these versions, if it tells none. Returns what that changes in modules to come."""
    if torch.version.cuda is not None:
        return {}
    patches.set(torch.version, "cuda", build.cuda)
    patches.set(torch._C, "_has_cudnn", True)
    patches.set(torch._C, "_cudnn", _cudnn(build.cudnn))
    patches.set(torch.backends.cudnn, "version", lambda: _number(build.cudnn))
    patches.set(torch._C, "_has_cusparselt", True)
    patches.set(torch._C, "_cusparselt", _module("_cusparselt", getVersionInt=lambda: _number(build.cusparselt)))
    patches.set(torch.backends.cusparselt, "version", lambda: _number(build.cusparselt))
    return {"bitsandbytes.cuda_specs": lambda module: _change_specs(module, patches)}


def _change_specs(module: Any, patches: Patches) -> None:
    """bitsandbytes goes on to take its library for the CPU: that for CUDA needs the libraries of a build with CUDA."""
    patches.set(module, "get_cuda_specs", lambda: None)


def _number(version: _Version) -> int:
    """CUDNN_VERSION of cudnn_version.h, from 9 on: 92000; CUSPARSELT_VERSION: 801."""
    major, minor, patch = version
    return major * 10000 + minor * 100 + patch


def _cudnn(version: _Version) -> ModuleType:
    """What torch/csrc/cuda/shared/cudnn.cpp binds."""
    modes = SimpleNamespace(rnn_relu=0, rnn_tanh=1, lstm=2, gru=3)
    return _module(
        "_cudnn", is_cuda=True, getVersionInt=lambda: _number(version), getRuntimeVersion=lambda: version,
        getCompileVersion=lambda: version, RNNMode=modes,
    )  # fmt: skip


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(f"torch._C.{name}", "Versions of the build that emulated GPUs stand for.")
    vars(module).update(names)
    return module
