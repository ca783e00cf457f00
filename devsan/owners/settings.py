"""The setting that told a framework where to place something, as the user wrote or chose it."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence

from devsan import core
from devsan.introspect.source.parsing import parse

_POSITIONS = {"map_location": ("load", 1)}  # arguments that are also given by position: of which call, which


def as_written(setting: str, stack: Sequence[core.Frame]) -> str:
    """Returns ``setting`` as a frame of the program in ``stack`` writes it: "device_ids" as ``device_ids=[0, 1]``.

    LOCAL_RANK, which the environment holds, gets its value. What is written nowhere stays a name.

    Args:
        setting: the name of an argument, of an environment variable, or other words.
        stack: the core's frames, innermost first.
    """
    if setting == "DataParallel.device_ids":
        trainer = any(frame.package == "transformers" and frame.file.endswith("trainer.py") for frame in stack)
        setting = "Trainer.args.n_gpu" if trainer else "device_ids"
    if setting == "cpu_offload_with_hook" and any(frame.package == "diffusers" for frame in stack):
        return "enable_model_cpu_offload()"
    if setting == "LOCAL_RANK":
        return f"LOCAL_RANK = {os.environ[setting]}" if setting in os.environ else setting
    if not setting.isidentifier() or setting == "device_map":
        return setting
    own = [frame for frame in stack if frame.package == ""]
    if setting == "map_location":
        own = own[:1]  # what calls torch.load; a function around it may be called load, too
    for frame in own:
        if text := argument_text(frame.source, setting):
            return text
    return "no map_location" if setting == "map_location" else setting


def argument_text(source: str, name: str) -> str:
    """Returns ``device_map="auto"`` of a call's text for the argument ``name``, "" where it has none."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        _, found, rest = source.partition(f"{name}=")
        return f"{name}={rest.split(',')[0].split(')')[0].strip()}" if found else ""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            return _shown(name, node.value)
    call, position = _POSITIONS.get(name, ("", 0))
    for node in ast.walk(tree) if call else ():
        named = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == call
        if named and isinstance(node, ast.Call) and len(node.args) > position:
            return _shown(name, node.args[position])
    return ""


def _shown(name: str, value: ast.expr) -> str:
    return f"{name}={ast.unparse(value)}".replace("'", '"')
