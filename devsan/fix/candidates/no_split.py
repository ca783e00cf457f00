"""A class whose modules a device map does not cut: told to the loader, and in the library's own list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.messages import message
from devsan.fix.candidates import PATCH
from devsan.fix.candidates.map_entries import involved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.loading import Loading
from devsan.fix.placed_model import PlacedModel, placed_models
from devsan.fix.source import Source, source_of

_IN_CALLS, _DOUBT = 1, 3  # where the program has a map inferred, it says there what the map may not cut
_TAKE_CLASSES = ("infer_auto_device_map", "get_balanced_memory", "load_checkpoint_and_dispatch")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields for each block that is cut the setting in the user's script, and the entry in the library's list."""
    for model in placed_models(failure):
        for type in dict.fromkeys(model.types[block] for block in model.cut_blocks(involved(failure))[:3]):
            text = message("have device maps keep each {type} whole", type=type)
            if model.loading is not None:
                yield from _in_calls(model.loading.source, type)
                if model.loading.function == "from_pretrained":
                    yield Change(text, "map", _before(model, model.loading, type), "DV107", _DOUBT)
            yield from _in_library(failure, type)


def _in_calls(source: Source, type: str) -> Iterator[Change]:
    """The calls of accelerate that take a list of such classes, all together."""
    edits = []
    for node in ast.walk(source.tree):
        name = getattr(getattr(node, "func", None), "id", "") or getattr(getattr(node, "func", None), "attr", "")
        if isinstance(node, ast.Call) and name in _TAKE_CLASSES and (node.args or node.keywords):
            given = next((each.value for each in node.keywords if each.arg == "no_split_module_classes"), None)
            if given is None:
                last = [*node.args, *(each.value for each in node.keywords)][-1]
                edits.append(
                    source.replace(last, f'{source.segment(last)}, no_split_module_classes=["{type}"]')
                )  # fmt: skip
            else:
                edits.append(source.replace(given, f'[*({source.segment(given)} or ()), "{type}"]'))
    yield Change(message("have device maps keep each {type} whole", type=type), "map", tuple(edits), "DV107", _IN_CALLS)


def _before(model: PlacedModel, loading: Loading, type: str) -> tuple[Edit, ...]:
    """The class attribute that from_pretrained reads, set before the call."""
    called = loading.call.func
    name = loading.source.segment(called.value) if isinstance(called, ast.Attribute) else ""
    lines = []
    if name.rpartition(".")[2] != model.facts["type"]:
        root = model.facts["modules"][0]
        if root["package"] != "transformers":
            return ()
        name = model.facts["type"]
        lines = [f"from transformers import {name}", ""]
    lines.append(f'{name}._no_split_modules = [*({name}._no_split_modules or ()), "{type}"]')
    return (loading.source.insert_before(loading.statement, lines),)


def _in_library(failure: Failure, type: str) -> Iterator[Change]:
    """The entry in ``_no_split_modules`` of the base class, in the file that defines the block."""
    for path in dict.fromkeys(frame["path"] for frame in failure.finding["stack"]):
        source = None if is_own(path) else source_of(path)
        classes = [node for node in source.tree.body if isinstance(node, ast.ClassDef)] if source is not None else []
        if source is None or type not in (each.name for each in classes):
            continue
        for each in classes:
            kept = {target.id: node for node in each.body if isinstance(node, ast.Assign)
                    for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
            text = message("add {type} to _no_split_modules of {owner}", type=type, owner=each.name)
            listed = kept.get("_no_split_modules")
            if listed is not None and isinstance(listed.value, (ast.List, ast.Constant)):
                quoted = f'"{type}"'
                names = [source.segment(name) for name in getattr(listed.value, "elts", ())]
                edit = source.replace(listed.value, f"[{', '.join([*names, quoted])}]")
                yield Change(text, PATCH, (edit,))
            elif "base_model_prefix" in kept:
                added = source.insert_after(kept["base_model_prefix"], [f'_no_split_modules = ["{type}"]'])
                yield Change(text, PATCH, (added,))
        return
