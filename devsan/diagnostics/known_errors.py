"""Errors that are no cause of DevSan's and yet are asked about beside them: what is known of each."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from devsan.diagnostics.messages import Message, message


@dataclass(frozen=True)
class KnownError:
    """One sort of error.

    Attributes:
        pattern: a regular expression that its sentence has.
        told: what it means, and what to do.
        rehearsal: what DevSan shows of it, for who has met it on a GPU.
        of: the library without which the same sentence means something else; "" for none.
    """

    pattern: str
    told: Message
    rehearsal: Message
    of: str = ""


_IN_RANKS = message("`devsan run -- torchrun ...` raises it where the ranks of a cluster do.")

_KNOWN = (
    KnownError(
        r"device-side assert triggered|(CUBLAS|CUDNN)_STATUS_(EXECUTION_FAILED|INTERNAL_ERROR)",
        message(
            "A kernel failed, most often on an index that is out of range: a token id that is not below the number of "
            "embeddings, or a label that is not below the number of classes. On a GPU, CUDA reports it at a later "
            "call, and all calls after it fail, too."
        ),
        message(
            "`devsan run` raises the error at the line at fault; on a GPU, CUDA_LAUNCH_BLOCKING=1 names that line."
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
        r"Expected to have finished reduction in the prior iteration(?![\s\S]*(find_unused_parameters=True. is enabled|"
        r"static_graph))",
        message(
            "DistributedDataParallel waits for the gradient of every parameter, and in the previous step some got "
            "none: a layer was not called, the loss does not use an output, or another rank took a different branch. "
            "TORCH_DISTRIBUTED_DEBUG=DETAIL names the parameters. Freeze them (requires_grad_(False)) before the model "
            "is wrapped, let the loss use every output, or pass find_unused_parameters=True "
            "(Trainer: ddp_find_unused_parameters=True)."
        ),
        _IN_RANKS,
    ),
    KnownError(
        r"Expected to mark a variable ready only once",
        message(
            "DistributedDataParallel has marked a parameter as ready twice in one backward pass: most often because "
            "checkpointing runs with use_reentrant=True, or because the parameter is also used outside of the forward "
            "of the wrapped model. Checkpoint with use_reentrant=False (Trainer: gradient_checkpointing_kwargs); "
            "static_graph=True helps where every step uses the same parameters."
        ),
        _IN_RANKS,
    ),
    KnownError(
        r"KeyError: '(LOCAL_RANK|(LOCAL_)?WORLD_SIZE|MASTER_(ADDR|PORT))'|"
        r"environment variable (RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) expected, but not set",
        message(
            "The program expects the environment variables that a launcher sets for each of its processes: most often "
            "it was started without one. Start it with torchrun --nproc-per-node N, accelerate launch or deepspeed; "
            "with torch.multiprocessing.spawn or srun, the program has to set them itself."
        ),
        message(
            "A launcher sets them in a rehearsal, too: `devsan run --gpus N -- torchrun --nproc-per-node N train.py`."
        ),
    ),
    KnownError(
        r"got \[0\] but expected shape|'weight' must be 2-D|in current model is torch\.Size\(\[0\]\)",
        message(
            "An empty parameter is most often one that DeepSpeed ZeRO-3 has partitioned: it is whole only while the "
            "module that owns it runs forward or backward. Move the computation into the forward of that module or "
            "declare the parameter where it is used: deepspeed.zero.register_external_parameter(module, parameter). "
            "To read or initialize it outside of a step, use deepspeed.zero.GatheredParameters([parameter]); load "
            "weights the way DeepSpeed or from_pretrained does."
        ),
        message("`devsan run -- deepspeed ...` runs the same ranks without GPUs."),
        of="deepspeed",
    ),
)  # fmt: skip


def known_error(text: str, libraries: Container[str] | None = None) -> KnownError | None:
    """Returns what is known about the error whose sentence is ``text``; None where it is none of those known here.

    Args:
        text: the sentence.
        libraries: that the program has imported; None where nobody knows, and all may be meant.
    """
    for known in _KNOWN:
        if re.search(known.pattern, text) and (not known.of or libraries is None or known.of in libraries):
            return known
    return None
