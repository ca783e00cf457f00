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
        if left and not _is_skeleton(subject, model, left):
            yield _finding(subject, model, left)


def _is_brought_in(model: Model, held: Held) -> bool:
    """Whether an offload keeps the data: the hook of the module, or one around it (accelerate, diffusers)."""
    paths = (held.path, *model.above(held.path))
    return any(hook.offloads for path in paths for hook in model.hooks.get(path, ()))


def _is_skeleton(subject: Subject, model: Model, left: list[Held]) -> bool:
    """Whether it has no weights on purpose: each call of torch.func.functional_call is given others."""
    whole = len(left) == len(model.tensors) and not model.hooks
    return whole and (subject.lines.dropped_data() is not None or subject.lines.calls_functionally(model.tree.root))


def _finding(subject: Subject, model: Model, left: list[Held]) -> Diagnostic:
    place = subject.lines.named("init_empty_weights", "init_on_device") or subject.lines.meta_context()
    names = ", ".join(f"`{held.full}`" for held in left[:3])
    if len(left) == len(model.tensors):
        return finding(
            CODE,
            plural("the {n} tensor of {model} is on the meta device and has no data",
                   "all {n} tensors of {model} are on the meta device and have no data", len(left), model=model.name),
            place,
            (message("The model was created on the meta device, and no weights were loaded."),),
            message("load the weights: load_state_dict(..., assign=True), or load_checkpoint_and_dispatch"),
            severity="error", confidence="certain",
            others=(message("call to_empty(device=...) before load_state_dict; to_empty alone leaves arbitrary "
                            "values"),),
        )  # fmt: skip
    buffers = all(held.is_buffer for held in left)
    return finding(
        CODE,
        plural("{n} of {total} tensors is on the meta device and has no data: {names}",
               "{n} of {total} tensors are on the meta device and have no data: {names}", len(left),
               total=len(model.tensors), names=names),
        place,
        (message("No loaded checkpoint contains them, and no offload keeps their data.") if not buffers
         else message("They are buffers that no checkpoint contains: loading weights does not initialize them."),),
        message("recompute them after loading the weights") if buffers
        else message("find the keys that load_state_dict did not get (strict=True reports them), and initialize them"),
        severity="error", confidence="certain",
    )  # fmt: skip
