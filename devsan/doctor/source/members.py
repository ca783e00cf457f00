"""``holder.name`` and ``holder[index]`` of what is not a plain value."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import functions
from devsan.doctor.source.definitions import ClassFacts, ClassValue, Function, Member
from devsan.doctor.source.objects import (
    Map,
    Object,
    State,
    is_registered,
    place_of,
    places,
)
from devsan.doctor.source.places import NOWHERE, Where
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    UNKNOWN,
    Const,
    Device,
    Ref,
    Sequence,
    Table,
    Tensor,
    Value,
    is_known,
)

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter

_SAME_PLACE = {"data", "grad", "T", "mT", "H", "mH", "real", "imag", "values", "indices"}
_NO_TENSOR = {"shape", "dtype", "ndim", "is_cuda", "requires_grad", "layout", "is_leaf", "itemsize", "nbytes", "names"}
_WEIGHTS = {"weight", "bias", "weight_ih_l0", "weight_hh_l0", "in_proj_weight", "in_proj_bias"}


# Fields of what tokenizers and loaders give, and of what the models of transformers and diffusers give.
_FIELDS = {
    "input_ids", "attention_mask", "token_type_ids", "pixel_values", "labels", "input_features", "input_values", "loss",
    "logits", "last_hidden_state", "pooler_output", "image_embeds", "text_embeds", "sample",
}  # fmt: skip


def read(run: Interpreter, holder: Value, node: ast.Attribute, scope: Scope) -> Value:
    """Returns what ``holder.name`` is."""
    name = node.attr
    if isinstance(holder, Ref):
        return Ref(f"{holder.name}.{name}")
    if isinstance(holder, Tensor):
        if name == "device":
            return Device(holder.where)
        if name in _NO_TENSOR:
            return UNKNOWN
        if name in _FIELDS and holder.how in ("loaded", "batch", "outputs"):
            return replace(holder, scalar=True if name == "loss" else holder.scalar)
        return replace(holder, leaf=False) if name in _SAME_PLACE else Member(holder, name)
    if isinstance(holder, Object):
        return of_object(run, holder, node)
    if isinstance(holder, ClassValue):
        found = holder.facts.method(name)
        if found is not None:
            return Function(found[1], _around(found[0]), holder, found[0])
        value = _of_class(holder.facts, name)
        return Member(holder, name) if value is UNKNOWN else value
    return Member(holder, name)


def of_object(run: Interpreter, holder: Object, node: ast.Attribute) -> Value:
    """Returns an attribute of an instance."""
    state, name = holder.state, node.attr
    if name in state.attributes:
        value = state.attributes[name]
        if isinstance(value, Tensor) and is_registered(holder, name, value):
            return replace(value, how="weight")
        kept = name not in state.buffers and _in_module(run) and not _is_given(run, holder, node.value)
        return _marked(value, name, run.replica) if kept else value
    if state.facts is not None:
        found = state.facts.method(name)
        if found is not None:
            owner, definition = found
            bound = Function(definition, _around(owner), holder, owner)
            if any(isinstance(each, ast.Name) and each.id == "property" for each in definition.decorator_list):
                return functions.follow(run, bound, [], {}, definition)
            return bound
        value = _of_class(state.facts, name)
        if value is not UNKNOWN:
            return value
    if name == "device" and state.is_module:
        return Device(device_of(holder, run.source.shown(node)))
    if state.is_module and not state.opaque and name in _WEIGHTS and state.weights:
        return Tensor(state.where, how="placed")
    if name == "module" and state.wrapped and state.children:
        return state.children[0]
    if state.opaque and state.is_module and name not in METHODS:
        return part(holder, name)
    return Member(holder, name)


def part(holder: Object, name: str) -> Value:
    """Returns a part of a library's model, of which only the map is known."""
    root, path = holder.state.root or (holder, "")
    path = f"{path}.{name}" if path else name
    found = root.state.map
    where = _on_the_map(found, path) if found is not None and found.spread else root.state.where
    if name in ("config", "generation_config", "hf_device_map", "dtype", "name_or_path"):
        return UNKNOWN
    return Object(State(root.state.type, is_module=True, opaque=True, where=where, root=(root, path)), holder.regions)


def _on_the_map(found: Map, path: str) -> Where:
    """Where a map puts a part; a map that says so in numbers, as far as it names the part."""
    for key, where in found.entries:
        if path == key or path.startswith(f"{key}."):
            return where if where.kind == "gpu" else Where("part", text=path)
    return Where("part", text=path)


def item(holder: Object, index: Value) -> Value:
    """Returns what ``module[index]`` is."""
    state = holder.state
    number = index.value if isinstance(index, Const) and is_known(index) else None
    if isinstance(number, str) and number in state.attributes:
        return state.attributes[number]
    if state.children and isinstance(number, int) and -len(state.children) <= number < len(state.children):
        return state.children[number]
    if state.opaque and state.is_module:
        return part(holder, str(number) if number is not None else "i")
    return state.children[0] if state.children and number is None else UNKNOWN


def device_of(holder: Object, text: str) -> Where:
    """Returns what ``model.device`` says of a module: of one that is spread, the device of its first part."""
    state = holder.state
    if state.root is not None and state.where.kind == "part":
        return Where("part", text=state.root[1])
    if state.opaque:
        return Where("value", text=text) if state.map is not None and state.map.spread else state.where
    if len(places(holder)) > 1:
        return Where("value", text=text)
    return place_of(holder)


def _in_module(run: Interpreter) -> bool:
    return run.owner is not None or any(frame.owner is not None and frame.owner.is_module for frame in run.frames)


def _is_given(run: Interpreter, holder: Object, node: ast.expr) -> bool:
    """Whether an object is what a module is called with: a batch, which is none of what the module keeps.

    What a method hands on to another one may be the module's own.
    """
    modules = [frame for frame in run.frames if frame.owner is not None and frame.owner.is_module]
    if holder.state.is_module or len(modules) != 1 or modules[0] is not run.frames[-1]:
        return False
    arguments = getattr(modules[0].node, "args", None)
    if not isinstance(arguments, ast.arguments) or not isinstance(node, ast.Name):
        return False
    return node.id in {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _marked(value: Value, name: str, replica: bool = False) -> Value:
    """Tensors that a plain attribute holds, itself or in a list, are marked with its name."""
    held = ("made", "moved") if replica else ("made",)
    if isinstance(value, Tensor) and value.how in held and value.where != NOWHERE:
        return replace(value, plain=value.plain or name)
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(_in_list(each, name) for each in value.items)
        return Sequence(items, _in_list(value.element, name))
    if isinstance(value, Table):
        rest = None if value.rest is None else _in_list(value.rest, name)
        return Table(tuple((key, _in_list(each, name)) for key, each in value.items), value.whole, rest)
    return value


def _in_list(value: Value, name: str) -> Value:
    # A parameter in a plain list is none of the module's.
    if isinstance(value, Tensor) and value.how in ("made", "parameter") and value.where != NOWHERE:
        return replace(value, plain=value.plain or name)
    return value


def _of_class(facts: ClassFacts, name: str) -> Value:
    for owner in (facts, *facts.bases):
        if isinstance(owner.scope, Scope) and name in owner.scope.names:
            return owner.scope.names[name]
    return UNKNOWN


def _around(facts: ClassFacts) -> Scope | None:
    """The scope that the methods of a class see: the one around the class."""
    return facts.scope.parent if isinstance(facts.scope, Scope) else None


METHODS = frozenset({
    "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "eval", "train", "requires_grad_", "parameters",
    "named_parameters", "buffers", "named_buffers", "modules", "named_modules", "children", "state_dict",
    "load_state_dict", "generate", "forward", "register_forward_hook", "register_forward_pre_hook", "apply",
    "zero_grad", "save_pretrained", "push_to_hub", "resize_token_embeddings", "gradient_checkpointing_enable",
    "tie_weights", "get_submodule", "named_children", "compile", "share_memory", "disable_adapters", "merge_and_unload",
    "print_trainable_parameters", "enable_input_require_grads", "get_input_embeddings", "get_output_embeddings",
    "chat", "generate_text", "prepare_inputs_for_generation", "encode", "encode_image", "encode_text", "transcribe",
    "enable_model_cpu_offload", "enable_sequential_cpu_offload", "remove_all_hooks", "reset_device_map",
})  # fmt: skip
