"""DV201: an engine that places models by itself takes one that hooks place as well."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.live.rules.maps import devices_of_map, installed_at
from devsan.doctor.live.subject import Subject

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields engines around models that a map has placed."""
    for model in subject.models:
        hooked = devices_of_map(model)
        engines = [each for each in model.tree.wrappers if each in ("deepspeed", "FSDP", "lightning")]
        if "FSDP" not in engines and model.sharded_by() == "FSDP":
            engines.append("FSDP")
        for engine in engines if hooked else ():
            yield _engine(subject, engine, hooked, installed_at(subject, model))


def _engine(subject: Subject, wrapper: str, hooked: list[str], installed: Place | None) -> Diagnostic:
    builders = {"deepspeed": ("initialize",), "FSDP": ("FullyShardedDataParallel", "FSDP", "fully_shard"),
                "lightning": ("setup",)}  # fmt: skip
    return finding(
        CODE,
        message("{engine} places a model for which accelerate's hooks also exist, for {devices}",
                engine=wrapper, devices=", ".join(hooked)),
        subject.lines.named(*builders[wrapper]),
        (message("The engine moves or shards the weights, but the hooks still move inputs to the devices of the "
                 "device map."),),
        message("load the model without device_map: the engine places it"), severity="error", confidence="likely",
        sites=(installed,) if installed is not None else (),
        others=(message("remove the hooks first: accelerate.hooks.remove_hook_from_submodules(model)"),),
    )  # fmt: skip
