"""DV104: a loss combines labels and outputs on two GPUs.

What it does
    Finds losses with one operand that is placed with one value (`"cuda:0"`, `args.device`), and another on the GPU
    where a device map, or the program itself, has put the last part of the model.

Why is this bad
    The labels come with the batch and the outputs come from the last stage. A loss function is not a module of the
    device map, so no hook moves its inputs.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    labels = torch.zeros(4, dtype=torch.long, device="cuda:0")
    loss = torch.nn.functional.cross_entropy(model.lm_head(torch.ones(4, width)), labels)

Use instead
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    labels = torch.zeros(4, dtype=torch.long)
    logits = model.lm_head(torch.ones(4, width))
    loss = torch.nn.functional.cross_entropy(logits, labels.to(logits.device))

Fix safety
    Not edited: move the labels to the logits to save memory, or the logits to the labels if nothing else is on that
    GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.device_values import value_meetings

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each loss."""
    yield from value_meetings(program, CODE, of_losses=True)
