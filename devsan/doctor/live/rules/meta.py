"""DV112: parameters and buffers that are left on the meta device, and that nobody will bring in."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message, plural
from devsan.doctor.findings import finding
from devsan.doctor.live.subject import Held, Model, Subject

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields what has no data and no owner who has it."""
    for model in subject.models:
        if model.sharded_by() == "deepspeed":
            continue
        left = [held for held in model.tensors if held.device == "meta" and not _is_brought_in(model, held)]
        if left:
            yield _finding(subject, model, left)


def _is_brought_in(model: Model, held: Held) -> bool:
    """Whether an offload keeps the data: the hook of the module, or one around it (accelerate, diffusers)."""
    paths = (held.path, *model.above(held.path))
    return any(hook.offloads for path in paths for hook in model.hooks.get(path, ()))


def _finding(subject: Subject, model: Model, left: list[Held]) -> Diagnostic:
    place = subject.lines.named("init_empty_weights", "init_on_device") or subject.lines.meta_context()
    names = ", ".join(f"`{held.full}`" for held in left[:3])
    if len(left) == len(model.tensors):
        return finding(
            CODE,
            plural("the {n} tensor of {model} is on meta, without data",
                   "all {n} tensors of {model} are on meta, without data", len(left), model=model.name),
            place,
            (message("The model was built without memory, and nobody has given it weights."),),
            message("load the weights: load_state_dict(..., assign=True), or load_checkpoint_and_dispatch"),
            severity="error", confidence="certain",
            others=(message("to_empty(device=...) before load_state_dict; alone it gives arbitrary numbers"),),
        )  # fmt: skip
    buffers = all(held.is_buffer for held in left)
    return finding(
        CODE,
        plural("{n} of {total} tensors is on meta, without data: {names}",
               "{n} of {total} tensors are on meta, without data: {names}", len(left),
               total=len(model.tensors), names=names),
        place,
        (message("They are in no checkpoint that was loaded, and no offload keeps their data.") if not buffers
         else message("They are buffers that no checkpoint holds: loading weights does not make them."),),
        message("compute them again after the weights were loaded") if buffers
        else message("find out which keys load_state_dict did not get (strict=True reports them), and initialize "
                     "those"),
        severity="error", confidence="certain",
    )  # fmt: skip
