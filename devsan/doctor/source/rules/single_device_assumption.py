"""DV101: one device value is used with parts of a model on several GPUs.

What it does
    Finds tensors that are placed with one value (`"cuda:0"`, `args.device`, `f"cuda:{n}"`, `model.device`) and are
    used with tensors that a device map, or the program itself, has put on another GPU: in forward hooks, with
    weights, or with outputs of modules.

Why is this bad
    A model that is split across GPUs has no single device. `model.device` is the device of its first part. After
    one line is fixed, the next one that uses the same value fails.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    delta = torch.zeros(width, device="cuda:0")
    model.model.layers[9].register_forward_hook(lambda module, args, output: output + delta)

Use instead
    layer = model.model.layers[9]
    delta = torch.zeros(width, device=next(layer.parameters()).device)
    layer.register_forward_hook(lambda module, args, output: output + delta)

Fix safety
    Not edited: the program decides which of the two must move.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.device_values import value_meetings

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each tensor that one value places."""
    yield from value_meetings(program, CODE, of_losses=False)
