"""What several rules ask of a model that accelerate's hooks place: for which devices, and by which line."""

from __future__ import annotations

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.live.subject import Model, Subject


def devices_of_map(model: Model) -> list[str]:
    """Returns the devices to which accelerate's hooks bring inputs."""
    found = {hook.device for hooks in model.hooks.values() for hook in hooks if hook.owner == "accelerate"}
    return sorted(found - {"", "meta"})


def installed_at(subject: Subject, model: Model) -> Place | None:
    """Returns the line that put the hooks there; None where it is not known."""
    return subject.lines.dispatch([held.tensor for held in model.tensors[:64]])
