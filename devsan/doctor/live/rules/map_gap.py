"""DV105: a part of a model that nobody placed: no hook brings its inputs, no move reached it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.reads import is_brought_along, moves_things
from devsan.doctor.live.rules.alike import like_it
from devsan.doctor.live.subject import Held, Model, Subject, is_scalar_of_host
from devsan.introspect.frames.values import own_dict

if TYPE_CHECKING:
    from typing import Any

CODE = own_code(__name__)

_CONTAINERS = "torch.nn.modules.container"  # ParameterDict and ParameterList among them


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields modules between hooks that stayed on the host, and modules whose own tensors are on two devices."""
    for model in subject.models:
        if model.sharded_by() or not model.gpus:
            continue
        uncovered: list[Held] = []
        split: dict[tuple[str, str], list[tuple[Held, Held]]] = {}
        for path, module in model.tree.modules.items():
            here = [held for held in model.of_module.get(path, ()) if held.device not in ("", "meta")]
            torn = _torn(module, here)
            if torn is not None and model.placing(path) is None:
                split.setdefault((torn[0].device, torn[1].device), []).append(torn)
            elif all(held.device == "cpu" for held in here):
                uncovered += [held for held in here if _is_left(model, path, module, held)]
        for alike in split.values():
            yield _split(*alike[0], len(alike) - 1)
        if uncovered:
            yield _left(subject, model, uncovered)


def _torn(module: Any, here: list[Held]) -> tuple[Held, Held] | None:
    """Two tensors on two devices that one of torch's own modules computes with; a container computes nothing."""
    kind = type(module)
    if not kind.__module__.startswith("torch.nn.modules") or kind.__module__ == _CONTAINERS or not here:
        return None
    first = next((held for held in here if held.device != "cpu"), here[0])
    offending = (held for held in here if held.device != first.device and not is_scalar_of_host(held.tensor))
    other = next(offending, None)
    return (first, other) if other is not None else None


def _is_left(model: Model, path: str, module: Any, held: Held) -> bool:
    """Whether a CPU tensor is computed with while nothing places it or brings the inputs of its module."""
    if is_scalar_of_host(held.tensor) or model.placing(path) is not None or model.hooks.get(path):
        return False
    if type(module).__module__.startswith("bitsandbytes."):
        return False  # DV431 says more of it
    if held.is_buffer:
        return held.tensor.is_floating_point() and not is_brought_along(module, held)
    if any(hook.places for hooks in model.hooks.values() for hook in hooks):
        return not _is_adapter(module)
    # Placed by hand: a part that is meant to be on the host has something around it that moves what goes in.
    around = [model.tree.modules[each] for each in model.above(path) if each in model.tree.modules]
    return len(model.gpus) == 1 and not any(moves_things(each) for each in (module, *around))


def _is_adapter(module: Any) -> bool:
    """Whether the module is one that its class keeps for later: PEFT's adapters that are switched off."""
    return "_disable_adapters" in own_dict(module) or type(module).__module__.startswith("peft.")


def _split(one: Held, other: Held, others: int) -> Diagnostic:
    return finding(
        CODE,
        message("`{one}` is on {device}, but `{other}` of the same module is on {other_device}",
                one=one.full, device=one.device, other=other.full, other_device=other.device),
        None,
        (message("The module computes with both, so they have to be on one device."),
         *((like_it(others),) if others else ())),
        message("move the whole module: {module} to {device}",
                module=one.path or message("the model"), device=one.device),
        severity="error", confidence="certain",
    )  # fmt: skip


def _left(subject: Subject, model: Model, found: list[Held]) -> Diagnostic:
    held = found[0]
    buffers = all(each.is_buffer for each in found)
    fleeting = own_dict(model.tree.modules[held.path]).get("_non_persistent_buffers_set") or ()
    others = len({each.path for each in found}) - 1
    more = (like_it(others),) if others else ()
    if any(hook.places for hooks in model.hooks.values() for hook in hooks):
        covered = [each.tensor for each in model.tensors if model.placing(each.path) is not None][:64]
        return finding(
            CODE, message("`{tensor}` is on cpu, and its module has no hook", tensor=held.full),
            subject.lines.dispatch(covered),
            (message("A non-persistent buffer is not in the state dict, so a device map without its module is not "
                     "rejected.")
             if held.name in fleeting
             else message("The device map does not contain the module, or the module was added afterwards."), *more),
            message("add {module} to the device map, or dispatch the model again after adding it",
                    module=held.path or message("the module")),
            severity="error", confidence="likely",
        )  # fmt: skip
    return finding(
        CODE,
        message("`{tensor}` is on cpu, but the rest of the model is on {device}",
                tensor=held.full, device=model.gpus[0]),
        None,
        (message("It was added, or replaced, after the model was moved.") if not buffers
         else message("The buffer was replaced by a CPU buffer after the model was moved."), *more),
        message('move the model again after it is complete: model.to("{device}")', device=model.gpus[0]),
        severity="warning", confidence="likely",
    )  # fmt: skip
