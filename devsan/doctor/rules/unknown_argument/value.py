"""DV421: values of arguments that the installed release of a library refuses, in calls and on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.installed import Installed
from devsan.doctor.installed.values import accepted
from devsan.doctor.packages import version
from devsan.doctor.trainer_arguments import TrainerArguments
from devsan.spelling import nearest

CODE = own_code(__name__)

_LIBRARIES = ("accelerate", "lightning", "lightning_fabric", "pytorch_lightning", "transformers", "trl")
_MEANT = {
    "adamw_apex_fused": ("adamw_torch_fused",),
    "adamw_hf": ("adamw_torch",),
    "bfloat16": ("bf16-mixed", "bf16"),
    "float16": ("16-mixed", "fp16"),
    "float32": ("32-true", "no"),
    "fp16": ("16-mixed",),
    "fp32": ("32-true", "no"),
    "fp64": ("64-true",),
    "mixed": ("16-mixed",),
    "never": ("no",),
    "none": ("no",),
}
"""What is meant by a value that no slip leads to, or that an earlier release took: the first that is taken."""

_CLOSE = 0.8  # how alike a value and the one that was meant are
_MANY = 12  # values that are listed


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields constants that are none of the values that the source of the library lists."""
    installed = case.facts.installed
    if installed is None:
        return
    for script in case.scripts:
        for call in script.library_calls:
            module, _, name = call.name.rpartition(".")
            if not module.startswith(_LIBRARIES) or not call.arguments:
                continue
            values = accepted(installed, module, name)
            for argument, given in call.arguments.items():
                if argument in values and _refuses(values[argument], given.value):
                    yield _refused(given.shown, call.name, given.place, given.value, values[argument])
    yield from _options(case, installed)


def _options(case: Case, installed: Installed) -> Iterator[Diagnostic]:
    said = TrainerArguments.of(case)
    if said.parsed is None:
        return
    values = accepted(installed, "transformers", "TrainingArguments")
    for name, value in said.words.items():
        if name in values and name not in said.parsed.own and _refuses(values[name], value):
            called = "transformers.TrainingArguments"
            yield _refused(f"--{name} {value}", called, said.parsed.place, value, values[name])


def _refuses(values: tuple[Any, ...], value: Any) -> bool:
    """Some libraries read a text whatever its capitals are."""
    if isinstance(value, str):
        return value.lower() not in [each.lower() for each in values if isinstance(each, str)]
    return isinstance(value, int) and not isinstance(value, bool) and value not in values


def _refused(shown: str, name: str, place: Place, value: Any, values: tuple[Any, ...]) -> Diagnostic:
    library, called = name.partition(".")[0], name.rpartition(".")[2]
    texts = [each for each in values if isinstance(each, str)]
    known = [each for each in _MEANT.get(str(value).lower(), ()) if each in texts]
    near = known[0] if known else nearest(str(value), texts, _CLOSE)
    listed = ", ".join(map(str, texts[:_MANY])) + (", ..." if len(texts) > _MANY else "")
    written = shown.replace(str(value), near) if near else ""
    return finding(
        CODE, message("{called} of {library} {version} does not take {argument}", argument=shown,
                      called=called, library=library, version=version(library)),
        place, (message("{library} refuses it; it accepts {values}.", library=library, values=listed),),
        message("write {correction}", correction=written) if near else message("write one of these"),
        severity="error", confidence="certain",
    )  # fmt: skip
