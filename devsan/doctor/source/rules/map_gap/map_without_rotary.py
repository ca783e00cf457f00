"""DV105: a hand-written device map does not contain the rotary embedding.

What it does
    Finds device maps that list the embedding and the layers of a decoder one by one, but not its `rotary_emb`,
    which transformers keeps next to the layers since 4.43. Models with other position embeddings (`wpe`,
    `embed_positions`) have none.

Why is this bad
    The `inv_freq` buffer of the module is not in the checkpoint, so no check reports that it has no device. It
    stays on the CPU or on the first GPU, and the first layer on another GPU fails.

Example
    device_map = {"model.embed_tokens": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1, "lm_head": 1}
    model = AutoModelForCausalLM.from_pretrained(name, device_map=device_map)

Use instead
    device_map = {"model.embed_tokens": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1, "lm_head": 1}
    device_map["model.rotary_emb"] = 0
    model = AutoModelForCausalLM.from_pretrained(name, device_map=device_map)

Fix safety
    Not edited: device maps are often computed, and the code that computes them must change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Mapped
from devsan.doctor.source.objects import Map
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each

CODE = own_code(__name__)

_LAYER = re.compile(r"(.*\bmodel)\.layers\.\d+$")


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each map."""
    mapped = [event for event in program.events if isinstance(event, Mapped) and event.map.spread]
    for first, _ in first_of_each((event.node, event) for event in mapped):
        assert isinstance(first, Mapped)
        missing = _missing(first.map)
        if missing:
            yield finding(
                CODE,
                message("the device map `{map}` does not contain `{name}`", map=first.map.text, name=missing),
                program.source.place(first.node),
                (message("since 4.43, transformers has a single rotary embedding next to the layers; its buffer is in "
                         "no checkpoint, so no check requires a device for it"),),
                message('add "{name}" to the device map, on the GPU of the first layers', name=missing),
            )  # fmt: skip


def _missing(found: Map) -> str:
    names = {name for name, _ in found.entries}
    for name in sorted(names):
        layer = _LAYER.match(name)
        if layer is None:
            continue
        base = layer[1]
        around = [base.rpartition(".")[0], base, ""] if "." in base else [base, ""]
        plain = f"{base}.embed_tokens" in names and not any(each in names for each in around)
        if plain and not any(each.startswith(f"{base}.") and re.search("rotary|position|wpe", each) for each in names):
            return f"{base}.rotary_emb"
    return ""
