"""DV433: a module holds the copy of a parameter that a move has made, and nobody holds the parameter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.subject import Subject, device_of
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import dict_in, own_dict
from devsan.introspect.models.heap import instances_of
from devsan.introspect.models.referrers import parameters_of

CODE = own_code(__name__)

_COPIES = "ToCopyBackward"  # autograd's name for what `to` and `cuda` do


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields attributes of modules whose gradients go to parameters that no module registers and no optimizer has."""
    copies = [
        (module, name, value, parameter)
        for model in subject.models
        for module in model.tree.modules.values()
        for name, value in own_dict(module).items()
        if (parameter := _copied(value)) is not None
    ]
    held = _held() if copies else set()
    for module, name, value, parameter in copies:
        if id(parameter) not in held:
            yield _finding(subject, module, name, value, parameter)


def _held() -> set[int]:
    """The ids of what any module or optimizer of the process has: the models that are checked need not be all."""
    torch: Any = sys.modules["torch"]
    modules = (each for module in instances_of(torch.nn.Module) for each in dict_in(module, "_parameters").values())
    stepped = (each for optimizer in instances_of(torch.optim.Optimizer) for each in parameters_of(optimizer))
    return {id(each) for each in chain(modules, stepped)}


def _copied(value: object) -> Any:
    """The parameter on another device that ``value`` is a copy of, and whose gradient was computed; None without."""
    if not is_tensor(value) or value.is_leaf:  # type: ignore[attr-defined]
        return None
    made: Any = value.grad_fn  # type: ignore[attr-defined]
    above = made.next_functions if made is not None and made.name().startswith(_COPIES) else ()
    parameter: Any = getattr(above[0][0], "variable", None) if above else None
    is_parameter = type(parameter).__name__ == "Parameter" and parameter.grad is not None
    return parameter if is_parameter and device_of(parameter) != device_of(value) else None


def _finding(subject: Subject, module: Any, name: str, value: Any, parameter: Any) -> Diagnostic:
    placing = next((each for each in subject.lines.provenance(value) if each.place is not None), None)
    return finding(
        CODE,
        message("`{name}` of {module} is a copy of a parameter, which no optimizer updates",
                name=name, module=type(module).__name__),
        placing.place if placing is not None else None,
        (message("`to` of a parameter returns another tensor where the device changes: `{name}` is a copy on {device}, "
                 "and its gradients go to the parameter on {other}.",
                 name=name, device=device_of(value), other=device_of(parameter)),
         message("A module registers instances of nn.Parameter only, so `{name}` is neither in parameters() nor in "
                 "state_dict().", name=name)),
        message("move the values, then make the parameter: nn.Parameter(values.to(device))"),
        confidence="certain",
        others=(message("register the parameter, and move the whole module"),),
    )  # fmt: skip
