"""What libraries do with placement: device maps, engines, wrappers, offloads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import factories, modules, parsers, third_party
from devsan.doctor.source.events import Mapped, Ranks, Refused, Wrapped
from devsan.doctor.source.objects import Map, Object, State, mapped, move, place_of
from devsan.doctor.source.places import CURRENT, HOST, NOWHERE, Where
from devsan.doctor.source.values import UNKNOWN, Const, Device, Sequence, Table, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
_NO_MODELS = ("Tokenizer", "Processor", "Config", "FeatureExtractor", "Scheduler", "Dataset")
# What chooses the process's GPU when it is made or called (each sets torch.cuda's current device).
_CHOOSING = (
    "Accelerator", "PartialState", "AcceleratorState", "TrainingArguments", "Seq2SeqTrainingArguments",
    "HfArgumentParser", "Fabric", "Trainer", "SFTConfig", "DPOConfig", "PPOConfig", "GRPOConfig",
    "init_distributed_mode", "setup_for_distributed", "set_device_index", "init_dist", "initialize_megatron",
)  # fmt: skip
_KEEPING = ("get_peft_model", "prepare_model_for_kbit_training", "prepare_model_for_int8_training", "for_inference",
            "for_training", "BetterTransformer.transform")  # fmt: skip


def known(run: Interpreter, name: str, given: Arguments) -> Value | None:
    """Returns what a library's function gives; None where nothing is known of it."""
    last = name.rpartition(".")[2]
    if last in ("DataParallel", "DistributedDataParallel"):
        return _wrapped(run, last, given)
    if name == "torch.cuda.set_device" or name.startswith("torch.cuda."):
        return None
    if last in ("from_pretrained", "from_config", "from_single_file"):
        return loaded(run, name, given)
    if last == "pipeline" and name.startswith("transformers"):
        _read_map(run, given)
        model, device = given.get("model", 1), given.named_nodes.get("device")
        found = mapped(model) if model is not None else None
        if found is not None and found.spread and device is not None and given.get("device") != Const(None):
            run.tell(Refused(given.node, run.functions, map=found, device=run.source.shown(device)))
        return UNKNOWN
    if name.startswith("accelerate.") or last in ("dispatch_model", "load_checkpoint_and_dispatch"):
        return _of_accelerate(run, last, given)
    if name == "deepspeed.initialize":
        factories.choose(run, given.node, NOWHERE)
        run.tell(Ranks(given.node, run.functions, sign="wrapper"))
        return UNKNOWN
    if last in _CHOOSING:
        factories.choose(run, given.node, NOWHERE)
        return UNKNOWN
    made = third_party.made(run, name, given)
    if made is not None:
        return made
    if last in _KEEPING and given.values:
        return given.values[0]
    if last == "infer_auto_device_map" or last == "get_balanced_device_map":
        return Const("auto")
    if last in ("remove_hook_from_submodules", "remove_hook_from_module") and given.values:
        model = given.values[0]
        if isinstance(model, Object):
            model.state.map = None
            model.state.hooked = False
            model.state.uncertain = True
        return model
    return None


def method(run: Interpreter, holder: Object, name: str, given: Arguments) -> Value | None:
    """Returns what a method of a library's object gives; None where nothing is known of it."""
    if holder.state.type == "argparse.ArgumentParser":
        return parsers.method(run, holder, name, given)
    if holder.state.type == "accelerate.Accelerator":
        if name in ("prepare", "prepare_model"):
            models = [each for each in given.values if isinstance(each, Object)]
            for model in models:
                if model.state.is_module:
                    model.state.wrapped = "accelerate"
                    move(model, holder.state.where)
                model.state.uncertain = True
            prepared = [each if isinstance(each, Object) else UNKNOWN for each in given.values]
            return prepared[0] if len(prepared) == 1 else Sequence(tuple(prepared))
        if name in ("unwrap_model",) and given.values:
            return given.values[0]
        return UNKNOWN
    if name in ("enable_model_cpu_offload", "enable_sequential_cpu_offload") and holder.state.is_module:
        holder.state.map = Map(given.node, True, f"{name}()")
        return UNKNOWN
    if name == "remove_all_hooks" or name == "reset_device_map":
        holder.state.map = None
        return UNKNOWN
    if name in ("set_device", "set_device_index"):
        factories.choose(run, given.node, NOWHERE)
    return None


def loaded(run: Interpreter, name: str, given: Arguments) -> Value:
    """``X.from_pretrained(...)``: a model that a map may have placed."""
    if "Tokenizer" in name or "Processor" in name or "FeatureExtractor" in name:
        return Object(State("transformers.tokenizer", opaque=True), run.regions)
    if any(word in name for word in _NO_MODELS):
        return UNKNOWN
    found = _read_map(run, given)
    model = Object(State(name.rpartition(".")[0], is_module=True, opaque=True, origin=given.node), run.regions)
    model.state.map = found
    model.state.where = NOWHERE
    # unsloth's loaders return a pair.
    return Sequence((model, UNKNOWN)) if name.startswith("unsloth.") else model


def _read_map(run: Interpreter, given: Arguments) -> Map | None:
    value = given.get("device_map")
    if value is None:
        return None
    found = read_map(run, value, given, "device_map")
    if found is not None:
        run.tell(Mapped(given.node, run.functions, map=found, guarded=run.guards > 0))
        if not found.spread and found.entries and found.entries[0][1].kind == "gpu":
            factories.uses(run, given.node, found.entries[0][1], f"device_map={found.text}")
        else:
            factories.names(run, given.node, (where for _, where in found.entries))
            if run.process.used is None:
                run.process = replace(run.process, used=given.node)
    return found


def read_map(run: Interpreter, value: Value, given: Arguments, name: str, position: int | None = None) -> Map | None:
    """Returns what a map means; None where it is not known, or where it is None."""
    node = given.named_nodes.get(name)
    if node is None and position is not None and position < len(given.nodes):
        node = given.nodes[position]
    text = run.source.shown(node) if node is not None else str(getattr(value, "value", "..."))
    if isinstance(value, Const) and isinstance(value.value, str) and value.value in _SPREADING:
        return Map(given.node, True, text if text.isidentifier() is False else f'"{value.value}"')
    if isinstance(value, Table):
        entries = tuple((str(key), factories.place(run, each, given.node)) for key, each in value.items)
        distinct = {where for _, where in entries}
        if NOWHERE in distinct or not value.whole or not entries:
            return None
        return Map(given.node, len(distinct) > 1, text, entries)
    if isinstance(value, Const | Device):
        where = factories.place(run, value, given.node)
        if value == Const(None) or where == NOWHERE:
            return None
        return Map(given.node, False, text, (("", where),))
    return None


def _of_accelerate(run: Interpreter, last: str, given: Arguments) -> Value | None:
    if last == "Accelerator":
        factories.choose(run, given.node, NOWHERE)
        # With cpu= or device_placement= it may place nothing on a GPU.
        where = NOWHERE if {"cpu", "device_placement"} & set(given.named) or not given.named_whole else CURRENT
        return Object(State("accelerate.Accelerator", opaque=True, where=where), run.regions)
    if last in _CHOOSING:
        factories.choose(run, given.node, NOWHERE)
        return UNKNOWN
    if last in ("dispatch_model", "load_checkpoint_and_dispatch", "cpu_offload", "disk_offload"):
        model = given.get("model", 0)
        if not isinstance(model, Object):
            return UNKNOWN
        if last in ("cpu_offload", "disk_offload"):
            # With a device of its own it brings each module there, and none to another GPU.
            found: Map | None = Map(given.node, given.get("execution_device", 1) is None, f"{last}(...)")
        else:
            position = 1 if last == "dispatch_model" else None
            value = given.get("device_map", position)
            found = None if value is None else read_map(run, value, given, "device_map", position)
        if found is not None and run.is_certain(model):
            model.state.map = found
            run.tell(Mapped(given.node, run.functions, map=found, guarded=run.guards > 0))
            if not model.state.opaque and found.entries:
                modules.place_by_map(model, found.entries)
            elif not model.state.opaque:
                model.state.uncertain, model.state.opaque = True, True
                model.state.where = NOWHERE
        return model
    if last == "infer_auto_device_map":
        return Const("auto")
    if last in ("remove_hook_from_submodules", "remove_hook_from_module"):
        model = given.values[0] if given.values else UNKNOWN
        if isinstance(model, Object):
            model.state.map, model.state.hooked, model.state.uncertain = None, False, True
        return model
    return None


def _wrapped(run: Interpreter, name: str, given: Arguments) -> Value:
    module = given.get("module", 0)
    if name == "DistributedDataParallel":
        run.tell(Ranks(given.node, run.functions, sign="wrapper"))
    made = Object(State(f"torch.nn.parallel.{name}", is_module=True, wrapped=name, opaque=False), run.regions)
    if isinstance(module, Object):
        ids = given.get("device_ids", 1)
        numbers: tuple[int, ...] = ()
        if isinstance(ids, Sequence) and ids.items is not None:
            numbers = tuple(each.value for each in ids.items if isinstance(each, Const) and type(each.value) is int)
        factories.names(run, given.node, (Where("gpu", number) for number in numbers))
        found = mapped(module)
        placed = place_of(module)
        run.tell(
            Wrapped(given.node, run.functions, by=name, module=module, ids=numbers,
                    map=found if found is not None and found.spread else None, placed=placed)
        )  # fmt: skip
        made.state.children = [module]
        made.state.where = module.state.where
        made.state.ids = numbers
    return made


def first_of(found: Map) -> Where:
    """Returns the first place that a map names."""
    return found.entries[0][1] if found.entries else HOST
