"""What CUDA says to every call of the matrix: run in a process of its own, without emulation.

Usage: python -m matrix.expectations --samples FILE --out FILE [--most N]
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path

import torch

from .arrangements import CPU, Arrangement, arrangements
from .iterator import Unchecked
from .placed import Cuda, placed
from .rules import Missing, Reached, Refused, Unknown
from .samples import samples, save
from .schema import Call, name_of

# What the oracle itself cannot do: a composite that calls a kernel past the dispatcher, on tensors that have no memory.
ARTIFACTS = re.compile(
    r"INTERNAL ASSERT FAILED|is not linked with support|from the 'CUDA' backend|maximum recursion depth|"
    r"The size of tensor a \(0\)|single memory location|Expected a value of type|outside the oracle's mode|"
    r"^Expected all tensors to be on the same device|Cannot access data pointer|doesn't have storage|"
    r"its data is not allocated yet"
)


# Composites that look for tensor subclasses, as the oracle's tensors are, and then call other operators.
SUBCLASS_SENSITIVE = {
    "ctc_loss.Tensor", "ctc_loss.IntList", "cummaxmin_backward", "cumprod_backward", "gather_backward",
    "index_select_backward", "value_selecting_reduction_backward",
    "infinitely_differentiable_gelu_backward", "kron.out", "_convolution_double_backward",
}  # fmt: skip


def late(call: Call, arrangement: Arrangement, message: str) -> tuple[str, str]:
    """What is said behind a kernel that only CUDA has, if that goes through: copy_arg of torchgen's out= forms
    (torchgen/gen_functionalization_type.py, gen_composite_out_kernel) wants the outputs where the results are."""
    outs, ins = [], []
    for place, operand in enumerate(call.operands):
        (outs if call.op._schema.arguments[operand.argument].is_out else ins).append(arrangement.device(place))
    home = next((device for device in ins if device.type == "cuda"), CPU)
    if ins and home == CPU:
        return "error", message
    wrong = next((device for device in outs if device != home), None)
    if wrong is None:
        return "accepted", ""
    return "late", f"Expected out tensor to have device {home}, but got {wrong} instead"


def expectation(call: Call, arrangement: Arrangement) -> tuple[str, str]:
    """The kind (accepted, refused, late, error, unknown) and the first line of what torch says."""
    if name_of(call.op) in SUBCLASS_SENSITIVE:
        return "unknown", "the composite treats tensor subclasses in its own way"
    places = iter(range(len(call.operands)))

    def place(_: object, tensor: torch.Tensor) -> torch.Tensor:
        number = next(places)
        return placed(arrangement.tensor(number, tensor), arrangement.device(number))

    values = call.mapped(place)
    try:
        with torch.no_grad(), Cuda():
            call.run(values)
    except Unchecked as refused:  # it would read foreign memory, if not for its shapes
        return "late" if arrangement.scalar else "refused", str(refused)
    except Refused as refused:
        return "refused", str(refused)
    except Unknown as unknown:
        return "unknown", str(unknown)
    except Missing as missing:
        return "error", str(missing)
    except Reached:
        return "accepted", ""
    except Exception as error:
        message = str(error).split("\n", 1)[0]
        if "from the 'CPU' backend" in message:  # a kernel that only CUDA has
            return late(call, arrangement, message)
        return ("unknown" if ARTIFACTS.search(message) else "error"), message
    return "accepted", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    calls = samples(options.most)
    save(calls, options.samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: [expectation(call, a) for a in arrangements(call)] for name, call in calls.items()}
    options.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
