"""Models and metrics that libraries make: what they are made of is not known, but they move as a whole.

A model that the program moved to a GPU wants its inputs there. Pipelines, and models that a map or a wrapper has
placed, bring them themselves.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import device_join
from devsan.doctor.source.events import TensorInput
from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.places import HOST
from devsan.doctor.source.values import UNKNOWN, Const, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_TRANSFORMERS = re.compile(r"^transformers\.(\w+\.)*[A-Z]\w*(Model|LMHeadModel|For[A-Z]\w+)$")
_DIFFUSERS = re.compile(r"^diffusers\.(\w+\.)*(UNet\w*Model|\w*Transformer\w*Model|AutoencoderKL)$")
_MODELS = re.compile(r"^(torchvision\.models(\.\w+)*\.[a-z]\w*|timm\.create_model|timm\.models\.create_model)$")
_INPUTS = (
    "input_ids", "attention_mask", "pixel_values", "labels", "inputs_embeds", "decoder_input_ids", "input_features",
    "input_values", "x", "images", "sample", "hidden_states", "encoder_hidden_states",
)  # fmt: skip


def made(run: Interpreter, name: str, given: Arguments) -> Value | None:
    """Returns the model or metric that ``name(...)`` makes; None where it makes none that is known."""
    if name.startswith("torchmetrics.") and name.rpartition(".")[2][:1].isupper():
        return Object(State(name, is_module=True, weights=True, where=HOST, origin=given.node), run.regions)
    if _TRANSFORMERS.match(name) or _DIFFUSERS.match(name) or _MODELS.match(name):
        where = run.process.default
        return Object(State(name, is_module=True, opaque=True, where=where, origin=given.node), run.regions)
    return None


def call(run: Interpreter, holder: Object, given: Arguments) -> Value:
    """Returns what a library's model gives for its inputs."""
    where = holder.state.where
    by_map = holder.state.map is not None and holder.state.map.spread
    operands = _inputs(given)
    if by_map or "ipeline" in holder.state.type:
        first = operands[0].tensor if operands else None
        # The hook of the whole model brings its outputs back to where the inputs were (accelerate/hooks.py,
        # AlignDevicesHook.io_same_device).
        known = by_map and first is not None and first.where.kind == "gpu" and holder.state.root is None
        return Tensor(first.where, None, how="outputs") if known and first is not None else UNKNOWN
    if where.kind != "gpu" or holder.state.map is not None or holder.state.wrapped not in ("", "accelerate"):
        return UNKNOWN
    weight = TensorInput(Tensor(where, False, None, how="weight"), given.called)
    for operand in operands:
        brought = holder.state.wrapped == "accelerate" and operand.tensor.how != "loaded"
        if operand.tensor.where == HOST and operand.tensor.scalar is False and not brought:
            device_join.meet(run, given.node, [weight, operand])
            break
    return Tensor(where, None, how="outputs")


def encoded(given: Arguments) -> Value:
    """Returns what a tokenizer or processor gives: with ``return_tensors="pt"``, CPU tensors."""
    if given.get("return_tensors") == Const("pt"):
        return Tensor(HOST, False, given.node, how="loaded")
    return UNKNOWN


def _inputs(given: Arguments) -> list[TensorInput]:
    found = [TensorInput(given.fields.tensor, given.fields.node)] if given.fields is not None else []
    if given.values and isinstance(given.values[0], Tensor):
        found.append(TensorInput(given.values[0], given.nodes[0]))
    for name in _INPUTS:
        value = given.named.get(name)
        if isinstance(value, Tensor):
            found.append(TensorInput(replace(value, leaf=False), given.named_nodes[name]))
    return found
