"""The settings that decide about devices, as libraries keep them: Trainer's arguments, DeepSpeed's configuration.

With them the program's own calls that take such a decision back: accelerate's hooks are gone without a trace.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, cast

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.source.sources import nodes_in, tree_at

_TRAINER = ("_n_gpu", "device", "local_rank", "deepspeed", "fsdp", "dataloader_pin_memory", "use_cpu")
_REMOVALS = ("remove_hook_from_submodules", "remove_hook_from_module")  # of accelerate.hooks
_ENGINE = ("zero_optimization", "gradient_clipping", "fp16", "bf16")


def settings_in(frames: Sequence[Frame]) -> list[core.Setting]:
    """Returns the core's Settings that objects in the variables of ``frames`` hold."""
    found: dict[str, str] = {}
    for frame in frames:
        for name, value in list(frame.scope.locals.items()):
            for setting, text in _of(name, value):
                found.setdefault(setting, text)
    return [core.Setting(name=name, value=value) for name, value in found.items()] + list(_removals(frames))


def _removals(frames: Sequence[Frame]) -> Iterator[core.Setting]:
    """Yields where the program's files remove the hooks of a dispatched model."""
    for file in dict.fromkeys(frame.file for frame in frames if frame.whose is Whose.PROGRAM):
        whole = tree_at(file)
        for node in nodes_in(whole, ast.Call) if whole is not None else ():
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _REMOVALS:
                where = place_in(file, "", node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
                yield core.Setting(name=name, value=name, where=where)


def _of(name: str, value: Any) -> Iterator[tuple[str, str]]:
    kind = type(value).__name__
    own = own_dict(value)
    if kind.endswith("TrainingArguments"):
        yield from ((f"Trainer.args.{key.lstrip('_')}", str(own[key])) for key in _TRAINER if own.get(key) is not None)
        yield from _deepspeed(own.get("deepspeed"))
    elif kind.endswith("Trainer") and own.get("args") is not None:
        yield from _of(name, own["args"])
    elif kind == "DeepSpeedEngine":
        config = own_dict(own.get("_config"))
        yield from _deepspeed(config.get("_param_dict"))
    elif name in ("ds_config", "deepspeed_config") or (is_a(value, dict) and "zero_optimization" in value):
        yield from _deepspeed(value)
    elif kind.endswith("Pipeline") and own.get("_offload_device") is not None:
        yield "pipeline.offload", str(own["_offload_device"])


def _deepspeed(config: Any, prefix: str = "deepspeed") -> Iterator[tuple[str, str]]:
    if not is_a(config, dict):
        return
    for key, value in list(dict.items(cast(dict[object, object], config))):
        if prefix == "deepspeed" and key not in _ENGINE:
            continue
        if is_a(value, dict):
            yield from _deepspeed(value, f"{prefix}.{key}")
        elif isinstance(value, (str, int, float)):
            yield f"{prefix}.{key}", str(value)
