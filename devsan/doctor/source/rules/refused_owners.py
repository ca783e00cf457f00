"""DV203: a pipeline gets a device and a model that a device map splits.

What it does
    Finds `pipeline(..., model=model, device=...)` where a device map splits the model.

Why is this bad
    transformers raises an error: a model that accelerate has placed cannot be moved to a device.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    generate = pipeline("text-generation", model=model, tokenizer=tokenizer, device=0)

Use instead
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    generate = pipeline("text-generation", model=model, tokenizer=tokenizer)

Fix safety
    Not edited: either of the two may be intended.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Refused
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, line_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each pipeline."""
    refused = [event for event in program.events if isinstance(event, Refused)]
    for first, _ in first_of_each((event.node, event) for event in refused):
        assert isinstance(first, Refused)
        source = program.source
        yield finding(
            CODE,
            message("`device={device}` is passed with a model that the device map `{map}` splits",
                    device=first.device, map=first.map.text),
            source.place(first.node),
            (message("the device map is in line {line}", line=line_of(first.map.node)),
             message("transformers refuses to move a model that accelerate has placed")),
            message("remove `device`: the device map places the model"),
            severity="error",
            confidence="certain",
        )  # fmt: skip
