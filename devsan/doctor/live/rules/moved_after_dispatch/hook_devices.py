"""DV201: a hook brings the inputs of a module to one device, and its weights are on another."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.hooks import Hook
from devsan.doctor.live.reads import is_brought_along
from devsan.doctor.live.rules.alike import like_it
from devsan.doctor.live.rules.tied_weights import split_ties
from devsan.doctor.live.subject import Held, Model, Subject, is_scalar_of_host

CODE = own_code(__name__)

_Mismatch = tuple[str, Hook, Held]
_ALIASES = 64  # tensors whose provenance are read for a line


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields the hooks that send inputs elsewhere, those for one device and by one owner as one finding."""
    for model in subject.models:
        if model.sharded_by():
            continue
        tied = {held.full for tie in split_ties(model) for held in tie.held}
        groups: dict[tuple[str, str, Place | None], list[_Mismatch]] = {}
        for path, hook, held in _mismatches(model):
            if held.full not in tied:
                key = (hook.owner, held.device, hook.place)
                groups.setdefault(key, []).append((path, hook, held))
        for (owner, offending, place), found in groups.items():
            if owner == "accelerate":
                yield _dispatched(subject, model, offending, found)
            else:
                yield _own(owner, offending, place, found)


def _mismatches(model: Model) -> Iterator[_Mismatch]:
    for path, module in model.tree.modules.items():
        hook = model.placing(path)
        if hook is not None and hook.owner != "diffusers":
            if not hook.offloads and hook.device:
                for held in model.of_module.get(path, ()):
                    if _is_elsewhere(held, hook.device) and not (held.is_buffer and is_brought_along(module, held)):
                        yield path, hook, held
            continue
        moving = next((each for each in model.hooks.get(path, ()) if each.device and not each.places), None)
        if moving is None:
            continue
        below = [held for held in model.tensors if f"{held.path}.".startswith(f"{path}." if path else "")]
        if len({held.device for held in below}) == 1 and _is_elsewhere(below[0], moving.device):
            yield path, moving, below[0]


def _is_elsewhere(held: Held, device: str) -> bool:
    """Whether a tensor with data is on another device; "cuda" stands for any GPU."""
    here = held.device
    if here in ("", "meta") or device in ("meta", "disk") or is_scalar_of_host(held.tensor):
        return False
    return here != device and not (device == "cuda" and here.startswith("cuda"))


def _dispatched(subject: Subject, model: Model, offending: str, found: list[_Mismatch]) -> Diagnostic:
    path, hook, held = found[0]
    holder, device = model.placed_at(path)[0], hook.device
    tensors = [each.tensor for _, _, each in found][:_ALIASES]
    moved = subject.lines.move(model.around(path), tensors)
    installed = subject.lines.dispatch(tensors)
    if installed is None:  # a move to the host leaves no provenance: the neighbors have theirs
        installed = subject.lines.dispatch([each.tensor for each in model.tensors[:_ALIASES]])
    others = len({each for each, _, _ in found}) - 1
    return finding(
        CODE,
        message("the hook of {module} moves its inputs to {device}, but `{tensor}` is on {other_device}",
                module=holder or message("the model"), device=device, tensor=held.full, other_device=offending),
        moved,
        (
            message("A device map registered the hook, and then the weights were moved by other means; hooks do not "
                    "notice that."),
            *((like_it(others),) if others else ()),
        ),
        message("remove the move: the device map places the model") if moved is not None
        else message("place the model once: with a device map, or with a move and no device map"),
        severity="error", confidence="certain" if moved is not None else "likely",
        sites=(installed,) if installed is not None else (),
        others=(message("remove the hooks before another owner places it: "
                        "accelerate.hooks.remove_hook_from_submodules(model)"),),
    )  # fmt: skip


def _own(owner: str, offending: str, place: Place | None, found: list[_Mismatch]) -> Diagnostic:
    path, hook, held = found[0]
    device = hook.device
    return finding(
        CODE,
        message("a forward pre-hook moves the inputs of {module} to {device}, but its weights are on {other_device}",
                module=path or message("the model"), device=device, other_device=offending),
        place,
        (message("The hook belongs to {owner}; `{tensor}` is on {device}.",
                 owner=owner, tensor=held.full, device=offending),),
        message("let the hook read the device from the module: `next(module.parameters()).device`"),
        severity="error", confidence="likely",
        others=(message("move the module to the device that the hook moves its inputs to"),),
    )  # fmt: skip
