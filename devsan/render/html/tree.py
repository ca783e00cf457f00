"""The module tree: what is on which device, with repeated layers folded into one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from devsan.render.html.devices import in_order
from devsan.render.html.node import Node, Tensor

MOST_ROWS = 500
"""Rows of one tree. What lies below is counted and not shown, so that the page stays small."""


def tree_of(
    model: Mapping[str, Any], most_rows: int = MOST_ROWS, stack: Sequence[Mapping[str, Any]] = ()
) -> Node | None:
    """Returns the tree of one model of the document; None when it has no modules.

    Args:
        model: the model.
        most_rows: of the tree.
        stack: of a failure at that moment, the innermost frame first.
    """
    modules = {str(module["path"]): module for module in model["modules"]}
    if not modules:
        return None
    below: dict[str, list[str]] = {}
    for path in modules:
        if path:
            below.setdefault(path.rpartition(".")[0], []).append(path)
    modules.setdefault("", {"type": model["type"], "tensors": (), "hooks": ()})
    device_map = {str(entry["key"]): str(entry["device"]) for entry in model["device_map"]}
    node = _node("", modules, below, device_map, device_map.get("", ""), False, _failed_in(modules, stack))
    return _pruned(replace(node, name=str(model["expression"]) or "model"), most_rows)


def devices_of(node: Node) -> list[str]:
    """Returns the devices of the tree, in the order of a legend."""
    return sorted(node.shares, key=in_order)


def _node(
    path: str, modules: Mapping[str, Any], below: Mapping[str, Sequence[str]], device_map: Mapping[str, str],
    home: str, offloads: bool, failed: str | None,
) -> Node:  # fmt: skip
    """``home`` and ``offloads`` are what the parents say."""
    module = modules[path]
    hooks, own = module["hooks"], module["tensors"]
    named = next((str(hook["execution_device"]) for hook in hooks if hook["execution_device"]), "")
    # The root's hook brings the inputs to the first layer; it says nothing about the layers below.
    home = (named if path else "") or device_map.get(path, "") or home
    offloads = offloads or any(hook["offload"] for hook in hooks)
    children = [_node(child, modules, below, device_map, home, offloads, failed) for child in below.get(path, ())]
    tensors = _tensors(own, home or _most((str(each["device"]), int(each["bytes"])) for each in own), offloads)
    folded = tuple(_folded(children))
    shares: dict[str, int] = {}
    for device, size in (
        *((tensor.device, tensor.bytes) for tensor in tensors),
        *(share for child in folded for share in child.shares.items()),
    ):
        shares[device] = shares.get(device, 0) + size
    return Node(
        path.rpartition(".")[2], str(module["type"]), home or _most(shares.items()), tensors,
        tuple(_hook_words(hook) for hook in hooks), folded, 1,
        dict(sorted(shares.items(), key=lambda share: in_order(share[0]))),
        1 + sum(child.modules for child in folded),
        sum(tensor.strayed for tensor in tensors) + sum(child.strayed for child in folded),
        bool(tensors or folded)
        and all(tensor.offloaded for tensor in tensors)
        and all(child.offloaded or not child.shares for child in folded)
        and bool(shares),
        failed=path == failed,
    )  # fmt: skip


def _failed_in(modules: Mapping[str, Any], stack: Sequence[Mapping[str, Any]]) -> str | None:
    """The innermost module of this model in whose methods the failure happened; None without one."""
    for frame in stack:
        path, owner = str(frame["module"]), str(frame["function"]).split(".")[0]
        if path in modules and (owner == modules[path]["type"] or (path and owner == "Module")):
            return path  # "" is the root, and what stands for a function of no module
    return None


def _tensors(own: Iterable[Mapping[str, Any]], home: str, offloads: bool) -> tuple[Tensor, ...]:
    found = []
    for each in own:
        device = str(each["device"])
        offloaded = offloads and device in ("meta", "cpu", "disk")
        strayed = not offloaded and home not in ("", device) and not (home == "cuda" and device.startswith("cuda"))
        found.append(
            Tensor(
                str(each["name"]), device, str(each["dtype"]), int(each["bytes"]),
                bool(each["is_buffer"]), strayed, offloaded,
            )
        )  # fmt: skip
    return tuple(found)


def _most(sizes: Iterable[tuple[str, int]]) -> str:
    total: dict[str, int] = {}
    for device, size in sizes:
        total[device] = total.get(device, 0) + size
    return max(total, key=lambda device: total[device], default="")


def _hook_words(hook: Mapping[str, Any]) -> str:
    device = hook["execution_device"]
    return str(hook["type"]) + (f" \N{RIGHTWARDS ARROW} {device}" if device else "")


def _folded(children: Sequence[Node]) -> list[Node]:
    """Consecutive numbered siblings that are alike, as one node each."""
    rows: list[list[Node]] = []
    for child in children:
        before = rows[-1][-1] if rows else None
        follows = before is not None and child.name.isdecimal() and before.name.isdecimal()
        if before is not None and follows and int(child.name) == int(before.name) + 1 and _alike(before, child):
            rows[-1].append(child)
        else:
            rows.append([child])
    return [_together(row) if len(row) > 1 else row[0] for row in rows]


def _alike(one: Node, other: Node) -> bool:
    return replace(one, name="") == replace(other, name="")


def _together(row: Sequence[Node]) -> Node:
    first, count = row[0], len(row)
    shares = {device: size * count for device, size in first.shares.items()}
    name = f"{first.name}\N{EN DASH}{row[-1].name}"
    return replace(
        first, name=name, count=count, shares=shares, modules=first.modules * count, strayed=first.strayed * count
    )


def _pruned(root: Node, most: int) -> Node:
    """Returns the tree with at most ``most`` rows: those near the root come first."""
    kept, waiting = 1, [root]
    expanded: set[int] = set()
    while waiting:
        following: list[Node] = []
        for node in waiting:
            if kept + len(node.children) <= most:
                kept += len(node.children)
                expanded.add(id(node))
                following.extend(node.children)
        waiting = following

    def cut(node: Node) -> Node:
        if id(node) in expanded:
            return replace(node, children=tuple(map(cut, node.children)))
        return replace(node, children=(), hidden=sum(child.modules for child in node.children))

    return cut(root)
