"""The oracle: what CUDA says to a call of an operator that has a CUDA kernel."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torchgen.model import DispatchKey

from . import generated, probe, special_layers
from .iterator import CPU, Refused, check_common, iterate, refuse
from .placed import bare, placed
from .schema import Call, name_of
from .special import SPECIAL

NO_WRAPPER = generated.Wrapper("", (), structured=False)


class Unknown(Exception):
    """The oracle has no rule."""


class Missing(Exception):
    """CUDA has no such operator, whatever the devices are."""


class Reached(Exception):
    """The call gets past every check, to a kernel that the oracle does not carry out."""


@cache
def shared_kernels() -> frozenset[str]:
    """Operators whose CUDA kernel is the CPU's function, so that the CPU build has CUDA's checks."""
    parsed = generated.yaml()
    cpu, cuda = (parsed.backend_indices[key] for key in (DispatchKey.CPU, DispatchKey.CUDA))
    return frozenset(
        name
        for name, function in generated.functions().items()
        if cpu.has_kernel(function)
        and cuda.has_kernel(function)
        and cpu.get_kernel(function).kernel == cuda.get_kernel(function).kernel
    )


def is_judged(call: Call) -> bool:
    """Whether the call is asked of this oracle as it is; other operators are taken apart."""
    name = name_of(call.op)
    return name in generated.wrappers() or (name in SPECIAL and SPECIAL[name].applies(call))


def is_missing(op: OpOverload) -> bool:
    name = name_of(op)
    return name in generated.functions() and generated.is_missing_on_cuda(name) and name not in SPECIAL


def sparse_key(op: OpOverload, options: dict[str, Any], on_gpu: bool) -> DispatchKey | None:
    """The key of a kernel that makes a sparse tensor of strided ones: BackendSelect takes it from the layout, and from
    the devices of the options and of the tensors."""
    device, layout = options.get("device") or CPU, options.get("layout")
    if not (on_gpu or torch.device(device).type == "cuda") or layout in (None, torch.strided):
        return None
    key = DispatchKey.SparseCUDA if layout == torch.sparse_coo else DispatchKey.SparseCsrCUDA
    return key if name_of(op) in generated.wrappers(key) else None


def check_wrapper(call: Call, key: DispatchKey) -> generated.Wrapper:
    """Raises what the wrapper of a key's kernel says of the devices, if there is one; returns it."""
    wrapper = generated.wrappers(key).get(name_of(call.op), NO_WRAPPER)
    by_argument = [
        (argument, tensor)
        for argument in wrapper.checked
        for operand, tensor in zip(call.operands, call.tensors(), strict=True)
        if call.op._schema.arguments[operand.argument].name == argument
    ]
    check_common(by_argument, wrapper.method)
    return wrapper


def check_foreach(call: Call) -> None:
    """ForeachBinaryOpScalarTensor.cu: the fast path of the forms that take a 0-dim tensor; ForeachUtils.h,
    convert_tensor_to_scalar_list: the scalars of the others are read on the host. The slow paths, one operator an
    element, are torch's own C++, whose calls come here one by one."""
    name = name_of(call.op)
    if re.fullmatch(r"_foreach_addc(mul|div)_?\.Tensor", name) and call.tensors()[-1].device != CPU:
        refuse(f"Expected scalars to be on CPU, got {call.tensors()[-1].device} instead.")
    match = re.fullmatch(r"_foreach_(add|mul|div)(_?)\.Tensor", name)
    if match is None:
        return
    first, scalar = call.tensors()[0], call.tensors()[-1]
    if match[1] != "add" and scalar.device == CPU:
        return
    same = all(t.device == first.device and t.dtype == scalar.dtype for t in call.tensors()[:-1])
    if same and scalar.device != first.device:
        verb = "is expected" if match[2] else "expected"
        refuse(f"scalar tensor {verb} to be on {first.device} but is on {scalar.device}")


def outputs_and_inputs(call: Call) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    outputs, inputs = [], []
    for operand, tensor in zip(call.operands, call.tensors(), strict=True):
        alias = call.op._schema.arguments[operand.argument].alias_info
        (outputs if alias is not None and alias.is_write else inputs).append(tensor)
    return outputs, inputs


def check(call: Call) -> None:
    """Raises Refused where CUDA refuses the call, Unknown where no rule tells."""
    name = name_of(call.op)
    if len({t.device for t in call.tensors()}) < 2:
        return
    wrapper = check_wrapper(call, DispatchKey.CUDA)
    if name in SPECIAL:
        SPECIAL[name].check(call)
    elif wrapper.checked:
        return
    elif wrapper.structured or name in shared_kernels():
        check_by_torch(call, wrapper.structured)
    else:
        raise Unknown(name)


def check_by_torch(call: Call, structured: bool) -> None:
    """Asks torch's own C++ where one GPU is involved. With two, its family is asked for, and that rule applied."""
    gpus = {t.device for t in call.tensors() if t.device.type == "cuda"}
    if len(gpus) <= 1:
        message = probe.refusal(call, structured, next(iter(gpus), CPU))
        if message is not None:
            refuse(message)
        return
    # Sizes come before devices in a meta function, and the operands' kinds before both.
    if (message := probe.size_error(call, structured)) is not None:
        raise RuntimeError(message)
    outputs, inputs = outputs_and_inputs(call)
    if says_out_device(call, structured):
        for output in outputs:
            if output.device != inputs[0].device:
                refuse(f"Expected out tensor to have device {inputs[0].device}, but got {output.device} instead")
    else:
        iterate(outputs, inputs, host_scalars=True)


def says_out_device(call: Call, structured: bool) -> bool:
    """Whether the operator sizes its output, and so looks at its device, before an iterator does."""
    arguments = call.op._schema.arguments
    if not any(a.is_out for a in arguments):
        return False
    apart = Call(
        call.op,
        call.mapped(lambda o, t: placed(bare(t), CPU if arguments[o.argument].is_out else torch.device("cuda", 0))),
    )
    message = probe.refusal(apart, structured, torch.device("cuda", 0))
    return message is not None and message.startswith("Expected out tensor")


assert special_layers  # which fills SPECIAL too

__all__ = ["Missing", "Reached", "Refused", "Unknown", "check", "is_judged", "is_missing", "sparse_key"]
