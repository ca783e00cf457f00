"""DV403: the driver, the GPUs and torch's build do not fit together.

Drivers: NVIDIA's "CUDA Compatibility", minor version compatibility; kernels: torch/cuda/__init__.py,
_check_capability and _check_cubins: a binary serves its own major capability from its minor on, PTX every later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message, plural
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.known_issues import minimum_driver

CODE = own_code(__name__)

_ARCH = re.compile(r"(sm|compute)_(\d+)(\d)[a-z]?")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields a driver that does not answer, is too old, or GPUs that torch has no kernels for."""
    driver, torch = case.facts.driver, case.facts.torch
    if driver.state in ("failing", "hanging"):
        yield _broken(case)
        return
    wants = bool(torch.cuda) and _wants_gpus(case)
    if driver.state == "absent" and driver.devices:
        yield finding(
            CODE, message("this machine has an NVIDIA driver but no nvidia-smi"), None,
            (message("Without it, the doctor cannot see the GPUs; in a container, the utility capability provides "
                     "it."),),
            message("start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility"), severity="note",
            confidence="possible", subject="nvidia-smi",
        )  # fmt: skip
    elif driver.state == "absent" and wants and not torch.available:
        yield finding(
            CODE, message("torch is built for CUDA {cuda}, but this machine has no NVIDIA driver", cuda=torch.cuda),
            None,
            (message("There is neither nvidia-smi nor /dev/nvidia0: torch.cuda.is_available() is False."),),
            message("run the doctor on the machine that runs the job"), severity="warning", confidence="likely",
            subject="driver", others=(message("test the job without a GPU: devsan run --gpus 2 train.py"),),
        )  # fmt: skip
    elif driver.state == "ok" and not driver.gpus:
        yield finding(
            CODE, message("the NVIDIA driver is loaded but finds no GPU"), None,
            (message("nvidia-smi prints: No devices were found."),),
            message("assign GPUs to the container or the job (--gpus all, --gres=gpu:N)"),
            severity="error" if wants else "warning", confidence="likely", subject=f"driver {driver.version}",
        )  # fmt: skip
    if driver.state == "ok" and driver.gpus:
        yield from _build(case)
        yield from _age(case)
        yield from _kernels(case)


def _wants_gpus(case: Case) -> bool:
    return bool(case.launch.launcher or case.documents) or case.launch.visible not in (None, "")


def _broken(case: Case) -> Diagnostic:
    driver = case.facts.driver
    if driver.state == "hanging":
        # Without persistence mode it may take some seconds, which `--fast` does not give it.
        soon = case.facts.fast
        return finding(
            CODE, message("nvidia-smi does not respond"), None,
            (message("The doctor stopped it after a timeout. A job would hang there as well, without a message."),),
            message("look for Xid errors in dmesg, and reboot the machine"), severity="note" if soon else "error",
            confidence="possible" if soon else "likely", subject="nvidia-smi",
        )  # fmt: skip
    mismatch = "version mismatch" in driver.sentence
    why = (message("The driver was updated, but the old kernel module is still loaded."),) if mismatch else ()
    return finding(
        CODE, message("nvidia-smi fails"), None,
        (driver.sentence or message("It prints nothing."), *why),
        message("reboot, or load the new kernel module") if mismatch
        else message("install or load the NVIDIA driver; for a container, the NVIDIA Container Toolkit"),
        severity="error", confidence="certain", subject="nvidia-smi",
    )  # fmt: skip


def _build(case: Case) -> Iterator[Diagnostic]:
    torch, driver = case.facts.torch, case.facts.driver
    if torch.version and not torch.cuda and not torch.hip:
        family = ".".join(driver.cuda.split(".")[:2])
        yield finding(
            CODE,
            plural("torch {version} is built without CUDA, but the machine has {n} GPU",
                   "torch {version} is built without CUDA, but the machine has {n} GPUs", len(driver.gpus),
                   version=torch.version),
            None,
            (message("torch.version.cuda is None: this torch cannot use a GPU."),),
            message("install a build for CUDA {cuda} or older: https://pytorch.org/get-started/locally", cuda=family)
            if family
            else message("install a build for CUDA: https://pytorch.org/get-started/locally"),
            severity="error", confidence="certain", subject=f"torch {torch.version}",
        )  # fmt: skip


def _age(case: Case) -> Iterator[Diagnostic]:
    torch, driver = case.facts.torch, case.facts.driver
    needed = minimum_driver(torch.cuda)
    if needed and driver.version and _numbers(driver.version) < _numbers(needed):
        yield finding(
            CODE,
            message("driver {driver} is too old for CUDA {cuda}, which torch is built with", driver=driver.version,
                    cuda=torch.cuda),
            None,
            (message("CUDA {cuda} needs driver {needed} or later; this driver supports CUDA {known}.",
                     cuda=torch.cuda.partition(".")[0], needed=needed, known=driver.cuda) if driver.cuda
             else message("CUDA {cuda} needs driver {needed} or later.", cuda=torch.cuda.partition(".")[0],
                          needed=needed),),
            message("install a torch that is built for CUDA {cuda}", cuda=driver.cuda.partition(".")[0]) if driver.cuda
            else message("install an older torch"),
            severity="error", confidence="certain", subject=f"driver {driver.version}",
            others=(message("update the driver to {needed} or later", needed=needed),),
        )  # fmt: skip
    elif torch.state == "ok" and torch.cuda and not torch.available and case.facts.visible:
        yield finding(
            CODE,
            plural("nvidia-smi sees {n} GPU, but torch cannot use it",
                   "nvidia-smi sees {n} GPUs, but torch cannot use them", len(driver.gpus)),
            None,
            (torch.sentence or message("torch.cuda.is_available() is False."),),
            message("see the message above; an updated driver needs a reboot, a container needs --gpus all"),
            severity="error", confidence="likely", subject=f"torch {torch.version}",
        )  # fmt: skip


def _kernels(case: Case) -> Iterator[Diagnostic]:
    matches = [_ARCH.fullmatch(arch) for arch in case.facts.torch.archs]
    archs = [(match[1], int(match[2]), int(match[3])) for match in matches if match is not None]
    if not archs:
        return
    for gpu in case.facts.visible_gpus():
        if not gpu.capability:
            continue
        own = tuple(map(int, gpu.capability.split(".")))
        if any(
            major == own[0] and minor <= own[1] if kind == "sm" else (major, minor) <= own
            for kind, major, minor in archs
        ):
            continue
        newer = own > max((major, minor) for _, major, minor in archs)
        yield finding(
            CODE,
            message("torch has no kernels for {gpu} (compute capability {capability})", gpu=gpu.name,
                    capability=gpu.capability),
            None,
            (message("It is built for {architectures}.", architectures=" ".join(case.facts.torch.archs)),
             message("The first kernel fails: no kernel image is available for execution on the device.")),
            message("install a newer torch that is built for a newer CUDA") if newer
            else message("install a torch that is built for an older CUDA"),
            severity="error", confidence="certain", subject=f"GPU {gpu.index}",
        )  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
