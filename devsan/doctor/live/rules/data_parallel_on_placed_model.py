"""DV202: DataParallel or DDP wraps a model that a map, or the program, has spread."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.rules.maps import devices_of_map, installed_at
from devsan.doctor.live.subject import Model, Subject, is_gpu

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields wrappers around models that are on several GPUs."""
    for model in subject.models:
        hooked = devices_of_map(model)
        for wrapper in model.tree.wrappers:
            if wrapper in ("DDP", "torch.nn.DataParallel"):
                yield from _wrapped(subject, model, wrapper, hooked, installed_at(subject, model) if hooked else None)


def _wrapped(
    subject: Subject, model: Model, wrapper: str, hooked: list[str], installed: Place | None
) -> Iterator[Diagnostic]:  # fmt: skip
    if len(model.gpus) < 2 and len([each for each in hooked if is_gpu(each)]) < 2:
        return
    by = message("a device map") if hooked else message("the program")
    name = {"DDP": "DistributedDataParallel", "torch.nn.DataParallel": "DataParallel"}[wrapper]
    if wrapper == "DDP" and not hooked:
        return  # a model on several GPUs, without device_ids: DDP's own way for model parallel ranks
    place = subject.lines.named(*(("DistributedDataParallel", "DDP") if wrapper == "DDP" else ("DataParallel",)))
    yield finding(
        CODE,
        message("{wrapper} wraps a model that {by} splits across {devices}",
                wrapper=name, by=by, devices=", ".join(model.gpus or hooked)),
        place,
        (message("DataParallel needs the whole module on the first GPU, and replicates it to the others.")
         if wrapper != "DDP"
         else message("DDP needs one device per rank, but the hooks of the device map move inputs to other devices."),),
        message("remove the wrapper: the model already uses several GPUs"), severity="error", confidence="certain",
        sites=(installed,) if installed is not None else (),
        others=(message("place the whole model on one GPU, then wrap it"),),
    )  # fmt: skip
