"""DV110: state of an optimizer is on another device than its parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.subject import Subject, device_of, is_scalar_of_host
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import dict_in, is_a
from devsan.introspect.models.referrers import parameters_of

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields optimizers whose step will meet their state on another device."""
    names = {id(held.tensor): held.full for model in subject.models for held in model.tensors}
    for optimizer in subject.optimizers:
        if type(optimizer).__module__.startswith("deepspeed"):
            continue  # its optimizers move state on purpose
        found = list(_astray(optimizer))
        if found:
            parameter, key, value = found[0]
            yield _finding(subject, optimizer, names.get(id(parameter), ""), key, parameter, value)


def _astray(optimizer: Any) -> Iterator[tuple[Any, str, Any]]:
    kept = dict_in(optimizer, "state")
    for parameter in parameters_of(optimizer):
        state: Any = dict.get(kept, parameter)
        for key, value in list(dict.items(state)) if is_a(state, dict) else ():
            if not is_tensor(value) or is_scalar_of_host(value):  # a step counter may stay on the host
                continue
            here, there = device_of(value), device_of(parameter)
            if here and there and here != there and "meta" not in (here, there):
                yield parameter, str(key), value


def _finding(subject: Subject, optimizer: Any, name: str, key: str, parameter: Any, value: Any) -> Diagnostic:
    kind = type(optimizer).__name__
    built: Place | None = subject.lines.built(optimizer)
    loaded = subject.lines.state_loaded(optimizer)
    here, there = device_of(value), device_of(parameter)
    return finding(
        CODE,
        message("`{key}` of {optimizer} for `{name}` is on {device}, but the parameter is on {other_device}",
                key=key, optimizer=kind, name=name, device=here, other_device=there) if name
        else message("`{key}` of {optimizer} for a parameter is on {device}, but the parameter is on {other_device}",
                     key=key, optimizer=kind, device=here, other_device=there),
        loaded or built,
        (message("The state was created or loaded when the parameter was on another device; moving a model does not "
                 "move it."),),
        message("move the model first, then create the optimizer, then load its state"),
        severity="error", confidence="certain", sites=(built,) if loaded is not None and built is not None else (),
        others=(message("load the state again after the move: optimizer.load_state_dict(optimizer.state_dict())"),),
    )  # fmt: skip
