"""A table of the program's that says where its parts go, with another GPU for one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.scope import parsed
from devsan.fix.source import Source, source_of

_TIED = 2  # the weights of two parts are one tensor: they can only be on one GPU
_DOUBT = 34  # the program meant to have the part where it is


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the other entry of ``PLACEMENT = {"embeddings": "cuda:0", "head": "cuda:1"}`` for a part that was moved by
    it to where its partner is not."""
    for operand, partner in failure.pairs():
        if partner["device"] == "cpu":
            continue
        moves = [event for event in operand["provenance"] if event["kind"] == "moved"]
        for event in moves[:1] if is_weight(operand) else ():
            before = any(each["device"] == partner["device"] for each in moves[1:])
            for frame in event["frames"]:
                source = source_of(frame["path"]) if is_own(frame["path"]) else None
                if source is not None:
                    doubt = _TIED if before and operand["tied_to"] else _DOUBT
                    yield from _with_entry(source, event, partner["device"], doubt)


def _with_entry(source: Source, event: Mapping[str, Any], device: str, doubt: int) -> Iterator[Change]:
    key = _key_of(event["device_text"])
    found = []
    for node in ast.walk(source.tree) if key is not None else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            name = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for its_key, value in zip(node.value.keys, node.value.values, strict=True):
                if getattr(its_key, "value", None) == key and _device_in(value) == event["device"]:
                    found.append((name, node.value, value))
    if len(found) != 1:
        return
    name, table, entry = found[0]
    there = (source.segment(each) for each in table.values if _device_in(each) == device)
    text = message("have `{table}` put `{key}` on {device}", table=source.segment(name), key=str(key), device=device)
    yield Change(text, "creation_site", (source.replace(entry, next(there, f'"{device}"')),), doubt=doubt)


def _key_of(text: str) -> object:
    """The constant in ``placement["head"]``; None for another expression."""
    node = parsed(text)
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    return node.slice.value if isinstance(node.slice, ast.Constant) else None


def _device_in(value: ast.expr) -> str:
    """The device of ``"cuda:1"``, ``1`` and ``torch.device("cuda:1")``; "" for another expression."""
    said = [value]
    if isinstance(value, ast.Call) and function_name(value) == "device" and not value.keywords:
        said = value.args
    words = [each.value for each in said if isinstance(each, ast.Constant) and not isinstance(each.value, bool)]
    if len(words) == 1 and isinstance(words[0], int):
        return f"cuda:{words[0]}"
    return ":".join(map(str, words))
