"""The process around a failure: rank, GPUs, versions, default device; what the program was doing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

from devsan import core
from devsan.introspect.frames.calls import only_call
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.places import package_of

_DISTRIBUTIONS = ("torch", "transformers", "accelerate", "deepspeed", "lightning", "pytorch-lightning", "peft",
                  "bitsandbytes", "diffusers", "trl", "triton", "numpy")  # fmt: skip
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NCCL_P2P_DISABLE",
              "ACCELERATE_BYPASS_DEVICE_MAP", "ACCELERATE_TORCH_DEVICE", "PYTORCH_CUDA_ALLOC_CONF", "DEVSAN_OPTIONS",
              "CUDA_DEVICE_ORDER", "DS_ACCELERATOR")  # fmt: skip
_SET_DEFAULT = frozenset({"set_default_device", "set_default_tensor_type"})
_LOSSES = ("nll_loss", "cross_entropy", "binary_cross_entropy", "mse_loss", "l1_loss", "kl_div", "ctc_loss")


def process(frames: Sequence[Frame]) -> core.Process:
    """Returns the core's Process. Imports nothing, and starts no CUDA that was not started."""
    found = core.Process(
        rank=launch_number("RANK") or 0, local_rank=launch_number("LOCAL_RANK") or 0,
        world_size=launch_number("WORLD_SIZE") or 1,
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""), versions=dict(_versions()),
        environment={name: os.environ[name] for name in _VARIABLES if name in os.environ},
    )  # fmt: skip
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return found
    try:
        found.device_count = int(torch.cuda.device_count())
        if torch.cuda.is_initialized():
            found.current_device = core.Device(f"cuda:{torch.cuda.current_device()}")
            found.set_device_called = torch.cuda.current_device() != 0
        found.default_device = core.Device(str(torch.get_default_device()))
        if not str(found.default_device).startswith("cpu"):
            place = only_call(frames, _SET_DEFAULT)
            if place is not None:
                found.default_set = core.Event(device=str(found.default_device), stack=[place])
    except Exception:  # a torch of another age; a failure must not hide the one that is explained
        pass
    return found


def launch_number(variable: str) -> int | None:
    """Returns a number that the launcher put into the environment, "RANK"; None where it put none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None


def phase_of(frames: Sequence[Frame], op: str, kind: Kind) -> core.Phase:
    """Returns the core's Phase: what the innermost telling frame of ``frames`` (outermost first) does."""
    phases = core.Phase
    if any(loss in op for loss in _LOSSES):
        return phases.LOSS
    found = phases.NONE
    for frame in frames:
        name, package = frame.code.co_name, package_of(frame.file)
        if name in ("backward", "_engine_run_backward") and package == "torch":
            found = phases.BACKWARD
        elif name in ("step", "clip_grad_norm_", "unscale_and_clip_grads") and package in ("torch", "deepspeed"):
            found = phases.OPTIMIZER
        elif name == "generate":
            found = phases.GENERATE
        elif name in ("compute_loss", "loss_function", "fixed_cross_entropy") or "Loss" in _owner(frame):
            found = phases.LOSS
        elif name == "from_pretrained" or (package == "torch" and frame.file.endswith("serialization.py")):
            found = phases.LOAD
        elif package == "torch" and "utils/data" in frame.file:
            found = phases.DATA
        elif name == "forward" and found in (phases.NONE, phases.DATA):
            found = phases.FORWARD
    return found


def _owner(frame: Frame) -> str:
    return type(frame.scope.locals.get("self")).__name__ if frame.code.co_name == "forward" else ""


def _versions() -> Iterator[tuple[str, str]]:
    """Of those that are loaded: to read what is installed of the others takes longer than the rest of a report."""
    for name in _DISTRIBUTIONS:
        module = sys.modules.get(name.replace("-", "_"))
        if module is None:
            continue
        version = getattr(module, "__dict__", {}).get("__version__")
        if version is None:
            try:
                version = metadata.version(name)
            except Exception:
                continue
        yield name, str(version)
