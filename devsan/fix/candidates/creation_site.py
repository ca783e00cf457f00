"""A tensor or a module is put on the right device where it is made or moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.messages import message
from devsan.diagnostics.torch_names import MODULE_MOVES
from devsan.fix.calls import function_name, keyword, moved, placed, writes_device_out
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.made_together import together
from devsan.fix.scope import LITERAL, devices
from devsan.fix.source import Source, source_of

_DOUBT = 20
_SETTLED = 6
_TOLD = 4
_SIDECAR = "DV109"
_WANTED = re.compile(r"on device (cuda:\d+)")  # what torch.nn.DataParallel asks of its module


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the changes of the lines that placed an operand, the innermost first."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for event in operand["provenance"]:
            # What loaded a model by a map is moved by another map: a move behind it would gather the model on one GPU.
            for frame in event["frames"] if not _by_a_map(event) else ():
                if is_own(frame["path"]) and not failure.is_live(frame):
                    yield from _at(failure, frame, operand, partner)
                elif is_own(frame["path"]):
                    yield from _as_told(frame, partner)
        for frame in failure.own_frames[:1]:
            yield from _holder(frame, operand, partner)
    wanted = _WANTED.search(failure.finding["sentence"]) if failure.finding["kind"] == "module" else None
    for operand in failure.operands if wanted else ():
        for frame in (frame for event in operand["provenance"] for frame in event["frames"]):
            if wanted and is_own(frame["path"]) and not failure.is_live(frame):
                yield from _at(failure, frame, operand, {"name": "", "device": wanted[1], "provenance": ()})


def _by_a_map(event: Mapping[str, Any]) -> bool:
    return "device_map" in event["owner"]["setting"]


def _at(
    failure: Failure, frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]
) -> Iterator[Change]:
    source = source_of(frame["path"])
    node = source.expression_at(frame) if source is not None else None
    if source is None or not isinstance(node, ast.Call) or _is_loader(source, node):
        return
    if isinstance(source.parents.get(node), ast.Expr) and not _places(node):
        return  # what it returns is used nowhere: loss.backward()
    base = _DOUBT + (0 if operand["offending"] else 3) + (_SETTLED if _is_settled(failure, operand, partner) else 0)
    name = _made_there(source, node, operand) or operand["name"] or operand["qualified_name"] or operand["role"]
    for device, its_doubt in devices(source, node, partner):
        # A line that writes a device out may go on doing so: the program is no less portable than it was.
        doubt = its_doubt - LITERAL if device.startswith('"') and writes_device_out(node) else its_doubt
        text = message("put `{name}` on {device} where it is made", name=name, device=device.strip('"'))
        yield Change(text, "creation_site", (put(source, node, device),), doubt=base + doubt)
        for told, nodes, more in together(source, node, device.strip('"')):
            edits = tuple(source.replace(each, placed(source, each, device)) for each in nodes)
            yield Change(told, "creation_site", edits, doubt=base + doubt + more)


def _places(node: ast.Call) -> bool:
    """Whether a call moves what it is given, or is told a device."""
    return function_name(node) in MODULE_MOVES or keyword(node, "device") is not None


def _is_loader(source: Source, node: ast.Call) -> bool:
    """Whether a loop takes the operand from what a class makes there, which is no tensor: a ``DataLoader``."""
    around = source.parents.get(node)
    is_taken_from = isinstance(around, ast.For | ast.comprehension) and around.iter is node
    return is_taken_from and function_name(node)[:1].isupper()


def _made_there(source: Source, node: ast.Call, operand: Mapping[str, Any]) -> str:
    """What the statement gives a name to, or moves, of which the operand was computed: a layer; "" for the operand."""
    if operand["provenance"][0]["kind"] != "computed":
        return ""
    statement, what = source.parents.get(node), moved(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return source.segment(statement.targets[0])
    return source.segment(what) if what is not None else ""


def _as_told(frame: Mapping[str, Any], partner: Mapping[str, Any]) -> Iterator[Change]:
    """A function that still runs was told by ``device=`` where to put what it moves: update_bn of swa_utils."""
    source = source_of(frame["path"])
    node = source.expression_at(frame) if source is not None else None
    told = keyword(node, "device") if isinstance(node, ast.Call) else None
    if source is None or told is None or not isinstance(node, ast.Call):
        return
    for device, doubt in devices(source, node, partner):
        if device != source.segment(told):
            text = message("give `{function}` {device} as its device", function=function_name(node),
                           device=device.strip('"'))  # fmt: skip
            yield Change(text, "creation_site", (source.replace(told, device),), doubt=_TOLD + doubt)


def _is_settled(failure: Failure, operand: Mapping[str, Any], partner: Mapping[str, Any]) -> bool:
    """Whether a weight is on a GPU already, and what meets it is data: it is the data that should come.

    What stands beside another weight, such as an adapter's, follows that.
    """
    follows = failure.finding["code"] == _SIDECAR
    return is_weight(operand) and not follows and operand["device"] != "cpu" and not is_weight(partner)


def _holder(frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]) -> Iterator[Change]:
    """What holds an operand moves where it is made: ``criterion`` of ``criterion.weight`` or ``criterion(x, y)``."""
    source = source_of(frame["path"])
    name = (operand["name"] or "").rpartition(".")[0]
    call = source.expression_at(frame) if source is not None and name == "self" else None
    if source is not None and isinstance(call, ast.Call) and isinstance(call.func, (ast.Name, ast.Attribute)):
        name = source.segment(call.func)
    for node in ast.walk(source.tree) if source is not None and name not in ("", "self") else ():
        if source is None or not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if name in map(source.segment, node.targets):
            for device, doubt in devices(source, node, partner):
                text = message("put `{name}` on {device} where it is made", name=name, device=device.strip('"'))
                edit = put(source, node.value, device)
                yield Change(text, "creation_site", (edit,), doubt=_DOUBT + doubt + (0 if operand["offending"] else 3))


def put(source: Source, node: ast.Call, device: str) -> Edit:
    """Returns the edit that puts what ``node`` returns on ``device``; each of them, where several names take it."""
    statement = source.parents.get(node)
    taken = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(taken, (ast.Tuple, ast.List)) or moved(node) is not None:
        return source.replace(node, placed(source, node, device))
    return source.replace(node, f"(each.to({device}) for each in {source.segment(node)})")
