"""What ``devsan.doctor(...)`` returns: findings, and who places the models."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import Message, message, plural
from devsan.doctor.as_report import report_of
from devsan.doctor.live.hooks import PROGRAM
from devsan.doctor.summary import summary
from devsan.render.language import chosen, language_named
from devsan.render.terminal.printer import lines_of

if TYPE_CHECKING:
    from devsan.doctor.live.subject import Model, Subject
    from devsan.render.language import Language
    from devsan.render.terminal.text import Line

_MOST = 8  # devices that are named


@dataclass(frozen=True)
class Owner:
    """Somebody who registered hooks on a model, or wrapped it.

    Attributes:
        model: the class of the model.
        name: "accelerate", "deepspeed", "DDP", "FSDP", "this program", ...
        mechanism: the class of the hooks, or the function; "" for a wrapper.
        modules: how many modules have them.
        devices: to which they bring inputs.
        place: the line that installed them; None where it is not known.
    """

    model: str
    name: str
    mechanism: str = ""
    modules: int = 0
    devices: tuple[str, ...] = ()
    place: Place | None = None


class Diagnosis(list[Diagnostic]):
    """Findings, the worst first. As a text it is what ``devsan doctor`` would print.

    Attributes:
        owners: who places the models.
    """

    def __init__(self, findings: Iterable[Diagnostic] = (), owners: Sequence[Owner] = ()) -> None:
        super().__init__(findings)
        self.owners = tuple(owners)

    def __str__(self) -> str:
        return self.text(chosen())

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """IPython shows this at the end of a cell."""
        printer.text(str(self))  # type: ignore[attr-defined]

    def text(self, language: str = "en") -> str:
        """Returns all of it as it is printed.

        Args:
            language: "en" or "zh".
        """
        say = language_named(language)
        lines: list[Line] = [line for owner in self.owners for line in _owner_lines(owner, say)]
        lines += [[]] if self.owners else []
        for finding in self:
            if finding.place is not None:
                linecache.checkcache(finding.place.file)  # named from where the program is now
            lines += [*lines_of(report_of(finding), say), []]
        lines.append([(f"devsan.doctor: {summary(self, say)}", "title")])
        return "\n".join("".join(piece for piece, _ in line).rstrip() for line in lines)


def _owner_lines(owner: Owner, say: Language) -> Iterable[Line]:
    yield [(say.text(_in_words(owner)), "")]
    if owner.place is not None:
        yield [("   --> ", "frame"), (str(owner.place), "")]


def _in_words(owner: Owner) -> Message:
    by = f"{owner.name}: {owner.mechanism}" if owner.mechanism else owner.name
    if owner.name == PROGRAM and owner.mechanism:
        by = message("this program: {function}", function=owner.mechanism)
    if not owner.modules:
        return message("{model} is placed by {by}", model=owner.model, by=by)
    modules = plural("{n} module", "{n} modules", owner.modules)
    if not owner.devices:
        return message("{model}: {by} on {modules}", model=owner.model, by=by, modules=modules)
    devices = ", ".join(owner.devices)
    return message("{model}: {by} on {modules}, for {devices}",
                   model=owner.model, by=by, modules=modules, devices=devices)  # fmt: skip


def placing_of(subject: Subject) -> list[Owner]:
    """Returns who registered hooks on the models of ``subject``, and who wrapped them."""
    found = []
    for model in subject.models:
        kind = model.name
        for wrapper in model.tree.wrappers:
            found.append(Owner(kind, wrapper, place=subject.lines.named(*_BUILDERS.get(wrapper, (wrapper,)))))
        found.extend(_hooked(kind, model, subject))
    return found


_BUILDERS = {
    "DDP": ("DistributedDataParallel", "DDP", "prepare"),
    "torch.nn.DataParallel": ("DataParallel",),
    "FSDP": ("FullyShardedDataParallel", "FSDP", "fully_shard", "prepare"),
    "deepspeed": ("initialize", "prepare"),
    "lightning": ("setup", "Trainer"),
    "torch.compile": ("compile",),
}


def _hooked(kind: str, model: Model, subject: Subject) -> Iterable[Owner]:
    groups: dict[tuple[str, str, Place | None], list[tuple[str, str]]] = {}
    for path, hooks in model.hooks.items():
        for hook in hooks:
            groups.setdefault((hook.owner, hook.type, hook.place), []).append((path, hook.device))
    for (owner, mechanism, place), hooked in groups.items():
        if owner in model.tree.wrappers and not mechanism:
            continue  # said already
        if place is None and owner in ("accelerate", "diffusers"):
            tensors = [held.tensor for path, _ in hooked for held in model.of_module.get(path, ())]
            place = subject.lines.dispatch(tensors[:64])
        if place is None and owner == "FSDP":
            place = subject.lines.named(*_BUILDERS["FSDP"])
        devices = tuple(sorted({device for _, device in hooked if device}))[:_MOST]
        yield Owner(kind, owner, mechanism, len({path for path, _ in hooked}), devices, place)
