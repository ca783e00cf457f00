"""The living models of this process, so that ranks can be compared: names, shapes, dtypes, devices; no values."""

from __future__ import annotations

import hashlib
from typing import Any

from devsan import core
from devsan.introspect.frames.tensors import dtype_name, plain_attributes
from devsan.introspect.models.device_maps import asked_for
from devsan.introspect.models.heap import live_models
from devsan.introspect.models.models import Tree
from devsan.introspect.models.module_facts import device_map_of, facts_of
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.run_files.places import frame_of

_MOST_MODELS = 4
_MOST_TENSORS = 4096
_ASKED = 64  # tensors whose provenance are searched for the line that asked for the map


def models_of_process() -> list[dict[str, Any]]:
    """Returns the models that are alive, the one that is trained first: wrapped ones before others, then by size."""
    with plain_attributes():
        found = [(tree, sum(1 for _ in tree.tensors())) for tree in live_models()]
        ordered = sorted(found, key=lambda each: (-bool(each[0].wrappers), -each[1]))
        return [_model(tree) for tree, _ in ordered[:_MOST_MODELS]]


def _model(tree: Tree) -> dict[str, Any]:
    digest, reader = hashlib.sha256(), ProvenanceReader()
    tensors: list[dict[str, Any]] = []
    seen: set[int] = set()
    devices: dict[str, None] = {}
    for path, name, tensor, is_buffer in tree.tensors():
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        row = {
            "name": f"{path}.{name}" if path else name, "is_buffer": is_buffer,
            "requires_grad": bool(tensor.requires_grad), "device": _device_of(tensor, reader),
            "dtype": dtype_name(str(tensor.dtype)), "shape": [int(size) for size in tensor.shape],
        }  # fmt: skip
        devices[str(row["device"])] = None
        told = (row["name"], is_buffer, row["requires_grad"], row["dtype"], row["shape"])
        digest.update(repr(told).encode("utf-8", "replace"))
        if len(tensors) < _MOST_TENSORS:
            tensors.append(row)
    return {
        "expression": tree.expression, "type": type(tree.root).__name__, "wrappers": list(tree.wrappers),
        "tensors": tensors, "count": len(seen), "digest": digest.hexdigest()[:16], "devices": list(devices),
        **_map_of(tree),
    }  # fmt: skip


def _device_of(tensor: Any, reader: ProvenanceReader) -> str:
    """Where a tensor is, or for one on the host the GPU where it was before: at the end, and after an error, a library
    (Lightning's ``teardown``) or the program itself brings a model back, in one rank sooner than in another."""
    here = str(tensor.device)
    if here != "cpu":
        return here
    return next((device for event in reader.of(tensor) if (device := str(event.device)).startswith("cuda")), here)


def _map_of(tree: Tree) -> dict[str, Any]:
    """The GPUs to which a map or hooks bind it, and the line that asked for the map."""
    entries: dict[str, str] = {}
    for key, device in device_map_of(tree).items():
        entries.setdefault(device, key)
    hooks: dict[str, None] = {}
    where, text = None, ""
    if core.is_here():
        for module in facts_of(tree).modules:
            for hook in module.hooks:
                if str(hook.execution_device):
                    hooks[str(hook.execution_device)] = None
        if entries or hooks:
            where, text = _line_of_map(tree)
    return {
        "device_map": [{"key": key, "device": device} for device, key in entries.items()], "device_map_text": text,
        "mapped_at": where, "hook_devices": list(hooks),
    }  # fmt: skip


def _line_of_map(tree: Tree) -> tuple[dict[str, Any] | None, str]:
    reader = ProvenanceReader()
    events: list[core.Event] = []
    for number, (_, _, tensor, _) in enumerate(tree.tensors()):
        if number >= _ASKED:
            break
        events.extend(reader.of(tensor))
    where, text = asked_for(events)
    return frame_of(where), text
