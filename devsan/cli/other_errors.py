"""Errors of CUDA and its libraries that are no cause of DevSan's: what is known of them, and what a rehearsal shows."""

from __future__ import annotations

import re

from devsan.diagnostics.messages import Message, message

_KNOWN = (
    (
        r"device-side assert triggered|(CUBLAS|CUDNN)_STATUS_(EXECUTION_FAILED|INTERNAL_ERROR)",
        message(
            "A kernel stopped at an index outside of its range: most often a token id that is not below the number of "
            "embeddings, or a label that is not below the number of classes. CUDA reports it at a later call, and all "
            "calls after it fail, too. `devsan run` raises the CPU's error at the line at fault; "
            "on a GPU, CUDA_LAUNCH_BLOCKING=1 names that line."
        ),
    ),
    (
        r"illegal memory access|misaligned address|unspecified launch failure",
        message(
            "A kernel has read or written memory that belongs to none of its tensors. CUDA reports it at a later call: "
            "CUDA_LAUNCH_BLOCKING=1 names the line, compute-sanitizer the kernel. It is a defect of the kernel, often "
            "a custom one that runs on another GPU than its tensors are on. DevSan runs no kernels of CUDA and cannot "
            "raise it; `devsan run` shows an index that is out of range and tensors on several devices."
        ),
    ),
    (
        r"(?i)unhandled (system|cuda) error|ncclSystemError|ncclUnhandledCudaError|ncclInternalError",
        message(
            "NCCL could not use the network, the shared memory or a GPU: NCCL_DEBUG=INFO prints which. DevSan emulates "
            "no network and cannot raise it. `devsan doctor` checks the launch, and `devsan run` shows ranks that "
            "share a GPU or call different collectives, which may end in it."
        ),
    ),
    (
        r"(CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_(ALLOC_FAILED|NOT_INITIALIZED)|(?i:cudnn).* not initialized",
        message(
            "A library of CUDA could not be set up: most often the GPU has no memory left for it, beside what torch "
            "keeps. An earlier index out of range ends in it, too. `devsan run` with the memory of the GPU shows what "
            "holds the memory (devsan explain DV501), and raises the error of such an index at its own line."
        ),
    ),
)  # fmt: skip


def what_is_known(text: str) -> Message | None:
    """Returns a few sentences about the error ``text``; None where it is none of those that are known here."""
    return next((told for pattern, told in _KNOWN if re.search(pattern, text)), None)
