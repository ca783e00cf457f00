"""Errors that are no cause of DevSan's and yet are asked about beside them: what is known of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from devsan.diagnostics.messages import Message, message


@dataclass(frozen=True)
class KnownError:
    """One sort of error.

    Attributes:
        pattern: a regular expression that its sentence has.
        told: what it means, and what to do.
        rehearsal: what DevSan shows of it, for who has met it on a GPU.
    """

    pattern: str
    told: Message
    rehearsal: Message


_KNOWN = (
    KnownError(
        r"device-side assert triggered|(CUBLAS|CUDNN)_STATUS_(EXECUTION_FAILED|INTERNAL_ERROR)",
        message(
            "A kernel stopped at an index outside of its range: most often a token id that is not below the number of "
            "embeddings, or a label that is not below the number of classes. CUDA reports it at a later call, and all "
            "calls after it fail, too."
        ),
        message(
            "`devsan run` raises the error at the line at fault, and names the index; "
            "on a GPU, CUDA_LAUNCH_BLOCKING=1 names that line."
        ),
    ),
    KnownError(
        r"illegal memory access|misaligned address|unspecified launch failure",
        message(
            "A kernel has read or written memory that belongs to none of its tensors. CUDA reports it at a later call: "
            "CUDA_LAUNCH_BLOCKING=1 names the line, compute-sanitizer the kernel. It is a defect of the kernel, often "
            "a custom one that runs on another GPU than its tensors are on."
        ),
        message(
            "DevSan runs no kernels of CUDA and cannot raise it; `devsan run` shows an index that is out of range and "
            "tensors on several devices."
        ),
    ),
    KnownError(
        r"(?i)unhandled (system|cuda) error|ncclSystemError|ncclUnhandledCudaError|ncclInternalError",
        message(
            "NCCL could not use the network, the shared memory or a GPU: NCCL_DEBUG=INFO prints which."
        ),
        message(
            "DevSan emulates no network and cannot raise it. `devsan doctor` checks the launch, and `devsan run` shows "
            "ranks that share a GPU or call different collectives, which may end in it."
        ),
    ),
    KnownError(
        r"(CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_(ALLOC_FAILED|NOT_INITIALIZED)|(?i:cudnn).* not initialized",
        message(
            "A library of CUDA could not be set up: most often the GPU has no memory left for it, beside what torch "
            "keeps. An earlier index out of range ends in it, too."
        ),
        message(
            "`devsan run` with the memory of the GPU shows what holds the memory (devsan explain DV501), and raises "
            "the error of such an index at its own line."
        ),
    ),
    KnownError(
        r"Expected to have finished reduction in the prior iteration",
        message(
            "DistributedDataParallel waits for the gradient of every parameter, and in the step before some got none: "
            "a layer that was not called, an output that the loss does not use, a branch that another rank took. "
            "TORCH_DISTRIBUTED_DEBUG=DETAIL names the parameters. Freeze them (requires_grad_(False)) before the model "
            "is wrapped, let the loss use every output, or pass find_unused_parameters=True "
            "(Trainer: ddp_find_unused_parameters=True)."
        ),
        message("`devsan run -- torchrun ...` raises it as the ranks of a cluster do."),
    ),
    KnownError(
        r"Expected to mark a variable ready only once",
        message(
            "DistributedDataParallel has got the gradient of a parameter twice in one backward pass: most often by "
            "checkpointing with use_reentrant=True, or because several forward passes share one backward pass. "
            "Checkpoint with use_reentrant=False (Trainer: gradient_checkpointing_kwargs), or pass static_graph=True "
            "where every step uses the same parameters."
        ),
        message("`devsan run -- torchrun ...` raises it as the ranks of a cluster do."),
    ),
    KnownError(
        r"got \[0\] but expected shape|'weight' must be 2-D|(?i:size mismatch).*torch\.Size\(\[0\]\)",
        message(
            "A parameter of no elements is one that DeepSpeed ZeRO-3 has partitioned: all of it is there only while "
            "the module that owns it runs forward or backward. Move the computation into the forward of that module or "
            "declare the parameter where it is used: deepspeed.zero.register_external_parameter(module, parameter). "
            "To read or initialize it outside of a step, use deepspeed.zero.GatheredParameters([parameter]); to load "
            "weights, DeepSpeed's or from_pretrained's own way."
        ),
        message("`devsan run -- deepspeed ...` raises it as the ranks of a cluster do."),
    ),
)  # fmt: skip


def known_error(text: str) -> KnownError | None:
    """Returns what is known about the error whose sentence is ``text``; None where it is none of those known here."""
    return next((known for known in _KNOWN if re.search(known.pattern, text)), None)
