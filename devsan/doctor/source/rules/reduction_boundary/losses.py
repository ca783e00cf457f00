"""DV104: a loss joins labels and outputs that are on two GPUs.

What it does
    Finds losses of which one operand is where one value placed it (`"cuda:0"`, `args.device`), and the other where a
    device map, or the program itself, has put the last part of the model.

Why is this bad
    The labels come with the batch and the outputs from the last stage. A loss function is no module of the map: no hook
    brings them together.

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
    Not edited: labels go to the logits where memory counts, and the other way round where nothing else is on that GPU.
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
