"""DV406: CUDA_VISIBLE_DEVICES does not name what it seems to.

As CUDA reads it (CUDA C++ Programming Guide, CUDA Environment Variables) and torch/cuda/__init__.py does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message, plural
from devsan.doctor.case import Case
from devsan.doctor.findings import finding

CODE = own_code(__name__)

_NAME = "CUDA_VISIBLE_DEVICES"
_OTHERS = {"all", "none", "auto", "gpu"}


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields entries that name no GPU or one twice, and numbers that may mean another GPU than nvidia-smi's."""
    text = case.facts.visible_text
    if text is not None:
        yield from _entries(case, text)
    yield from _order(case, text)
    yield from _ignored(case, text)


def _entries(case: Case, text: str) -> Iterator[Diagnostic]:
    subject = f"{_NAME}={text}"
    entries = [entry.strip() for entry in text.split(",")]
    count = len(case.facts.driver.gpus)
    if text.strip() in ("", "-1"):
        if count and _wants_gpus(case):
            yield finding(
                CODE, message("{variable} hides every GPU", variable=_NAME), None,
                (message("An empty value or -1 differs from an unset variable: no GPU is visible."),),
                message("unset {variable}, or list GPUs: 0,1", variable=_NAME),
                severity="error" if case.world > 1 else "warning", confidence="likely", subject=subject,
            )  # fmt: skip
        return
    if len(set(entries)) < len(entries):
        yield finding(
            CODE, message("{variable} lists a GPU twice", variable=_NAME), None,
            (message("CUDA then reports no GPU at all."),), _set(dict.fromkeys(entries)), severity="error",
            confidence="certain", subject=subject,
        )  # fmt: skip
        return
    for position, entry in enumerate(entries):
        wrong = _wrong(case, entry, count)
        if wrong:
            yield finding(
                CODE, message("{variable} has {entry}: {reason}", variable=_NAME, entry=repr(entry), reason=wrong),
                None,
                (message("CUDA stops reading at the first invalid entry: {left}.",
                         left=plural("only the first {n} is visible", "only the first {n} are visible", position)
                              if position
                              else message("no GPU is visible")),),
                _fix(case, entries, count), severity="error", confidence="certain", subject=subject,
            )  # fmt: skip
            return


def _wrong(case: Case, entry: str, count: int) -> Message | None:
    if entry.startswith("MIG-"):
        return None
    if entry.startswith("GPU-"):
        found = [gpu for gpu in case.facts.driver.gpus if gpu.uuid.startswith(entry)]
        return message("no GPU of this machine has this UUID") if count and not found else None
    if entry.lower() in _OTHERS:
        return message("CUDA accepts only numbers and UUIDs")
    if re.fullmatch(r"cuda:\d+", entry):
        return message("expected a number without cuda:")
    number = re.match(r"[+-]?\d+", entry)
    if number is None or int(number.group()) < 0:
        return message("not a number")
    if count and int(number.group()) >= count:
        return message("this machine has GPUs 0 to {last}", last=count - 1)
    return None


def _fix(case: Case, entries: list[str], count: int) -> Message:
    if any(re.fullmatch(r"cuda:\d+", entry) for entry in entries):
        return _set(entry.removeprefix("cuda:") for entry in entries)
    if any(entry.lower() == "all" for entry in entries):
        return message("unset {variable}: then all GPUs are visible", variable=_NAME)
    if not count:
        return message("write numbers: 0,1")
    return _set(map(str, range(min(len(entries), count))))


def _set(entries: Iterable[str]) -> Message:
    return message("{variable}={value}", variable=_NAME, value=",".join(entries))


def _wants_gpus(case: Case) -> bool:
    return bool(case.launch.launcher or case.documents or case.scripts)


def _order(case: Case, text: str | None) -> Iterator[Diagnostic]:
    """On machines with GPUs of several kinds CUDA's numbers are not nvidia-smi's."""
    gpus = case.facts.driver.gpus
    order = case.facts.variables.get("CUDA_DEVICE_ORDER")
    if len({gpu.name for gpu in gpus}) < 2 or order == "PCI_BUS_ID" or not _wants_gpus(case):
        return
    if text is not None and text.startswith(("GPU-", "MIG-")):
        return
    yield finding(
        CODE, message("CUDA and nvidia-smi number the GPUs of this machine differently"), None,
        (message("It has {gpus}: CUDA orders the GPUs fastest first, nvidia-smi by PCI bus ID.",
                 gpus=", ".join(dict.fromkeys(gpu.name for gpu in gpus))),),
        message("export {variable}={value}", variable="CUDA_DEVICE_ORDER", value="PCI_BUS_ID"), severity="warning",
        confidence="likely", subject=f"CUDA_DEVICE_ORDER={order or ''}",
    )  # fmt: skip


def _ignored(case: Case, text: str | None) -> Iterator[Diagnostic]:
    """The deepspeed launcher sets the variable itself, and ignores it beside its own options (launcher/runner.py)."""
    used = [name for name in ("include", "exclude", "num_gpus", "num_nodes") if name in case.launch.options]
    if case.launch.launcher != "deepspeed" or text in (None, "") or not used:
        return
    yield finding(
        CODE, message("the deepspeed launcher ignores {variable} if --{option} is given", variable=_NAME,
                      option=used[0]),
        None,
        (message("It logs this in its first lines, and uses the GPUs that its own options select."),),
        message("deepspeed --include localhost:{gpus}", gpus=text), severity="warning", confidence="certain",
        subject=f"{_NAME}={text}", others=(message("remove --{option}", option=used[0]),),
    )  # fmt: skip
