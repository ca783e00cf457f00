"""DV101: one device value is used beside parts of a model that are on several GPUs.

What it does
    Finds tensors that one value places (`"cuda:0"`, `args.device`, `f"cuda:{n}"`, `model.device`) and that are joined
    with what a device map, or the program itself, has put on another GPU: in forward hooks, beside weights, with the
    results of parts.

Why is this bad
    A model that is spread has no single device. `model.device` is that of its first part. Fixing one line
    leaves the next one that uses the same value.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    delta = torch.zeros(width, device="cuda:0")
    model.model.layers[9].register_forward_hook(lambda module, args, output: output + delta)

Use instead
    layer = model.model.layers[9]
    delta = torch.zeros(width, device=next(layer.parameters()).device)
    layer.register_forward_hook(lambda module, args, output: output + delta)

Fix safety
    Not edited: which of the two has to follow the other is the program's choice.
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
