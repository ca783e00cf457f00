"""torch's own checks, asked directly: the meta functions of structured kernels, and kernels that CUDA shares with the
CPU, are run in a CPU build with the meta device in the place of a GPU. Both are the C++ that CUDA runs.

Only for a process of its own: PyTorch's Python meta kernels are taken away, so that C++'s show.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import torch
from torch._C import DispatchKey

from .placed import bare, placed
from .schema import Call

# What a device check says. Other errors (shapes, a kernel that meta tensors lack) come after the checks.
SENTENCES = re.compile(
    "|".join(
        (
            r"^Expected all tensors to be on the same device",
            r"^Expected out tensor to have device ",
            r"^Trying to pass too many CPU scalars",
            r"^indices should be either on ",
            r"^Expected self\.device\(\) == out\.device\(\) to be true",
            r"^Attempted to set the storage of a tensor on device",
            r"^(all|any)\.dims: output must be on the same device",
            r"same device",
        )
    )
)


@cache
def bare_meta_kernels() -> None:
    from torch import _meta_registrations

    _meta_registrations._meta_lib_dont_use_me_use_register_meta._destroy()


def said(call: Call, structured: bool) -> str:
    """The first line of what torch's C++ raises, operands that are not on the CPU being on the meta device."""
    bare_meta_kernels()
    made: dict[int, torch.Tensor] = {}  # one tensor given twice stays one: an output may be an input

    def place(_: Any, tensor: torch.Tensor) -> torch.Tensor:
        source = bare(tensor)
        if id(source) not in made:
            on_host = tensor.device.type == "cpu"
            made[id(source)] = source.clone() if on_host else torch.empty_like(source, device="meta")
        return made[id(source)]

    values = call.mapped(place)
    key = DispatchKey.Meta if structured else DispatchKey.CPU
    arguments = call.op._schema.arguments
    positional = [v for v, a in zip(values, arguments, strict=True) if not a.kwarg_only]
    named = {a.name: v for v, a in zip(values, arguments, strict=True) if a.kwarg_only}
    try:
        call.op._op_dk(key, *positional, **named)
    except Exception as error:
        return str(error).split("\n", 1)[0]
    return ""


def refusal(call: Call, structured: bool, stand_in: torch.device) -> str | None:
    """What torch says about the devices, or None; `stand_in` is named in the place of the meta device."""
    message = said(call, structured)
    return re.sub(r"\bmeta\b", str(stand_in), message) if SENTENCES.search(message) else None


def size_error(call: Call, structured: bool) -> str | None:
    """What torch's C++ raises when all operands are on one device: about sizes, types, dimensions."""
    apart = Call(call.op, call.mapped(lambda _, tensor: placed(bare(tensor), torch.device("cuda", 0))))
    message = said(apart, structured)
    if not structured and "broadcast shape" not in message:  # a kernel that the meta device lacks
        return None
    return message or None
