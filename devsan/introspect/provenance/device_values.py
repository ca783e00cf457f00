"""What a variable that said a device was given: ``device`` is a parameter, and its default is "cuda".

Reads the source along the stack of an event: from the function that placed to those that called it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devsan import core
from devsan.introspect.frames.scopes import Spot, spot_in
from devsan.introspect.source.parsing import parse_expression
from devsan.introspect.source.statements import call_at

_DEEPEST = 8
_ONE_DEVICE = ("self", "model", "args", "config", "params", "next(", "trainer", "accelerator", "hparams")


def settle_source(event: core.Event) -> None:
    """Fills in ``event.source`` where the text of the device leads to the word "cuda" or to a tensor's device."""
    sources = core.DeviceSource
    if event.source != sources.UNKNOWN or not event.device_text.replace(".", "").isidentifier():
        return
    frames = [frame for frame in event.stack if frame.package not in ("torch", "python")]
    spot = spot_in(frames[0]) if frames else None
    given = spot.last_given(event.device_text) if spot is not None else None
    if given is not None and given[1]:  # an element of a loop over several devices: a plan by hand
        event.source = sources.MAP
        return
    said = _follow(parse_expression(event.device_text), frames, _DEEPEST)
    if isinstance(said, ast.Constant) and said.value == "cuda":
        event.source = sources.CURRENT
    elif isinstance(said, ast.Attribute) and said.attr == "device":
        holder = ast.unparse(said.value)
        if not any(word in holder for word in _ONE_DEVICE):
            event.source = sources.PEER


def _follow(node: ast.expr, frames: Sequence[core.Frame], left: int) -> ast.expr | None:
    if left == 0 or not frames:
        return None
    if not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.device" and len(node.args) == 1:
            return _follow(node.args[0], frames, left - 1)
        return node
    spot = spot_in(frames[0])
    if spot is None:
        return None
    assigned = spot.last_given(node.id)
    if assigned is not None:
        return _follow(assigned[0], frames, left - 1)
    return _given(node.id, spot, frames, left)


def _given(name: str, spot: Spot, frames: Sequence[core.Frame], left: int) -> ast.expr | None:
    """What the caller gave for a parameter, or its default."""
    if not isinstance(spot.tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    arguments = spot.tree.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    call = call_at(frames[1]) if len(frames) > 1 else None
    if call is None or name not in names + [each.arg for each in arguments.kwonlyargs]:
        return None
    bound = 1 if names[:1] in (["self"], ["cls"]) else 0
    given = dict(zip(names[bound:], call.args, strict=False)) | {word.arg: word.value for word in call.keywords}
    if name in given:
        return _follow(given[name], frames[1:], left - 1)
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    defaults |= {
        each.arg: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
    }
    return defaults.get(name)
