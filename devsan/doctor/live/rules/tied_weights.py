"""DV430: weights that are to be one are on two devices, or have become two."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.lines import place_of
from devsan.doctor.live.subject import Held, Model, Subject
from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.scopes import spot_of_code
from devsan.introspect.frames.tensors import same_memory
from devsan.introspect.frames.values import is_a, own_dict

CODE = own_code(__name__)


@dataclass(frozen=True)
class SplitTie:
    """One weight under several names, whose modules' hooks bring inputs to several devices."""

    held: tuple[Held, ...]
    devices: tuple[str, ...]


def split_ties(model: Model) -> list[SplitTie]:
    """Returns the tied weights of ``model`` whose modules work on different devices."""
    names: dict[int, list[Held]] = {}
    for held in model.tensors:
        if not held.is_buffer and held.device != "meta":
            names.setdefault(id(held.tensor), []).append(held)
    found = []
    for group in names.values():
        hooks = [model.placing(held.path) for held in group] if len(group) > 1 else []
        # An offloading hook brings in a copy of its own, and keeps track of ties (AlignDevicesHook.tied_params_map).
        devices = [hook.device for hook in hooks if hook is not None and hook.device and not hook.offloads]
        if len(set(devices)) > 1:
            found.append(SplitTie(tuple(group), tuple(dict.fromkeys(devices))))
    return found


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields ties that a map has split, and ties that are none any more."""
    for model in subject.models:
        if model.sharded_by():
            continue
        for tie in split_ties(model):
            names = _listed([f"`{held.full}`" for held in tie.held])
            yield finding(
                CODE,
                message("{names} are one tensor, but their modules run on {devices}",
                        names=names, devices=_listed(tie.devices)),
                subject.lines.dispatch([held.tensor for held in tie.held]),
                (message("It is on {device}; the hook of the other module moves inputs to another device.",
                         device=tie.held[0].device),),
                message("give {modules} the same device in the device map",
                        modules=_listed([held.path for held in tie.held])),
                severity="error", confidence="certain",
                others=(message("let accelerate compute the device map: infer_auto_device_map keeps tied modules "
                                "together"),),
            )  # fmt: skip
        yield from _untied(subject, model)


def _untied(subject: Subject, model: Model) -> Iterator[Diagnostic]:
    by_name = {held.full: held for held in model.tensors}
    for target, source, place in _declared(model):
        one, other = by_name.get(target), by_name.get(source)
        if one is None or other is None or "meta" in (one.device, other.device):
            continue
        if same_memory(one.tensor, other.tensor) or not _are_alike(one.tensor, other.tensor):
            continue
        devices = _listed(list(dict.fromkeys((one.device, other.device))))
        yield finding(
            CODE,
            message("`{target}` and `{source}` are declared as tied, but are two tensors on {devices}",
                    target=target, source=source, devices=devices),
            place,
            (message("They were untied by a move that replaces parameters, or by a copy of one of them."),
             message("Each gets only its own part of the gradients, and they are saved as if they were one.")),
            message("tie them again after the model is placed: `{target} = {source}`, or model.tie_weights()",
                    target=target, source=source),
            severity="warning", confidence="likely",
        )  # fmt: skip


def _declared(model: Model) -> Iterator[tuple[str, str, Place | None]]:
    """Yields target, source and line of the ties that classes declare: transformers' map, or the constructor's text."""
    known: set[str] = set()
    for path, module in model.tree.modules.items():
        ties = own_dict(module).get("all_tied_weights_keys")
        for target, source in dict.items(ties) if is_a(ties, dict) else ():  # type: ignore[arg-type]
            full = _joined(path, str(target))
            if full not in known:
                known.add(full)
                yield full, _joined(path, str(source)), None
        for kind in type(module).__mro__:
            init = kind.__dict__.get("__init__")
            code = getattr(init, "__code__", None)
            if code is not None and package_of(code.co_filename) == "":
                for target, source, node in _assigned(code):
                    yield _joined(path, target), _joined(path, source), place_of(code.co_filename, node)


def _assigned(code: Any) -> Iterator[tuple[str, str, ast.expr]]:
    """Yields what a constructor ties without a condition: ``self.head.weight = self.embed.weight``."""
    spot = spot_of_code(code)
    for node in getattr(spot.tree, "body", ()) if spot is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, source = _path(node.targets[0]), _path(node.value)
            if target.endswith(".weight") and source.endswith(".weight"):
                yield target, source, node.targets[0]


def _path(node: ast.expr) -> str:
    text = ast.unparse(node)
    is_member = isinstance(node, ast.Attribute) and text.startswith("self.") and text.replace(".", "").isidentifier()
    return text.removeprefix("self.") if is_member else ""


def _listed(names: Sequence[str]) -> str:
    """Returns "a and b", "a, b, c", "a, b, c, ..."."""
    if len(names) == 2:
        return message("{one} and {other}", one=names[0], other=names[1])
    return ", ".join([*names[:3], *(["..."] if len(names) > 3 else [])])


def _are_alike(one: Any, other: Any) -> bool:
    return bool(type(one) is type(other) and one.shape == other.shape and one.dtype == other.dtype)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
