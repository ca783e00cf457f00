"""DV406: CUDA_VISIBLE_DEVICES does not name what it seems to.

As CUDA reads it (CUDA C++ Programming Guide, CUDA Environment Variables) and torch/cuda/__init__.py does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.doctor.case import Case
from devsan.doctor.findings import Finding

CODE = own_code(__name__)

_NAME = "CUDA_VISIBLE_DEVICES"
_OTHERS = {"all", "none", "auto", "gpu"}


def check(case: Case) -> Iterator[Finding]:
    """Yields entries that name no GPU or one twice, and numbers that may mean another GPU than nvidia-smi's."""
    text = case.facts.visible_text
    if text is not None:
        yield from _entries(case, text)
    yield from _order(case, text)
    yield from _ignored(case, text)


def _entries(case: Case, text: str) -> Iterator[Finding]:
    subject = f"{_NAME}={text}"
    entries = [entry.strip() for entry in text.split(",")]
    count = len(case.facts.driver.gpus)
    if text.strip() in ("", "-1"):
        if count and _wants_gpus(case):
            yield Finding(
                CODE, f"{_NAME} hides every GPU", None,
                ("An empty value, or -1, is not the same as no value: no GPU is visible.",),
                f"unset {_NAME}, or name GPUs: 0,1", severity="error" if case.world > 1 else "warning",
                confidence="likely", subject=subject,
            )  # fmt: skip
        return
    if len(set(entries)) < len(entries):
        yield Finding(
            CODE, f"{_NAME} names a GPU twice", None,
            ("CUDA then shows no GPU at all.",), f"{_NAME}={','.join(dict.fromkeys(entries))}",
            severity="error", confidence="certain", subject=subject,
        )  # fmt: skip
        return
    for position, entry in enumerate(entries):
        wrong = _wrong(case, entry, count)
        if wrong:
            left = f"only the first {position} are visible" if position else "no GPU is visible"
            yield Finding(
                CODE, f"{_NAME} has {entry!r}: {wrong}", None,
                (f"CUDA stops reading at the first entry that names no GPU: {left}.",), _repair(case, entries, count),
                severity="error", confidence="certain", subject=subject,
            )  # fmt: skip
            return


def _wrong(case: Case, entry: str, count: int) -> str:
    if entry.startswith("MIG-"):
        return ""
    if entry.startswith("GPU-"):
        found = [gpu for gpu in case.facts.driver.gpus if gpu.uuid.startswith(entry)]
        return "no GPU of this machine has this UUID" if count and not found else ""
    if entry.lower() in _OTHERS:
        return "CUDA knows numbers and UUIDs only"
    if re.fullmatch(r"cuda:\d+", entry):
        return "a number is expected, without cuda:"
    number = re.match(r"[+-]?\d+", entry)
    if number is None or int(number.group()) < 0:
        return "no number"
    if count and int(number.group()) >= count:
        return f"this machine has GPUs 0 to {count - 1}"
    return ""


def _repair(case: Case, entries: list[str], count: int) -> str:
    if any(re.fullmatch(r"cuda:\d+", entry) for entry in entries):
        return f"{_NAME}={','.join(entry.removeprefix('cuda:') for entry in entries)}"
    if any(entry.lower() == "all" for entry in entries):
        return f"unset {_NAME}: then all GPUs are visible"
    if not count:
        return "write numbers: 0,1"
    many = min(len(entries), count)
    return f"{_NAME}={','.join(map(str, range(many)))}"


def _wants_gpus(case: Case) -> bool:
    return bool(case.launch.launcher or case.documents or case.scripts)


def _order(case: Case, text: str | None) -> Iterator[Finding]:
    """On machines with GPUs of several kinds CUDA's numbers are not nvidia-smi's."""
    gpus = case.facts.driver.gpus
    order = case.facts.variables.get("CUDA_DEVICE_ORDER")
    if len({gpu.name for gpu in gpus}) < 2 or order == "PCI_BUS_ID" or not _wants_gpus(case):
        return
    if text is not None and text.startswith(("GPU-", "MIG-")):
        return
    yield Finding(
        CODE, "GPU numbers of CUDA and of nvidia-smi differ on this machine", None,
        (f"It has {', '.join(dict.fromkeys(gpu.name for gpu in gpus))}: CUDA numbers the fastest first, nvidia-smi by "
         "the bus.",),
        "export CUDA_DEVICE_ORDER=PCI_BUS_ID", severity="warning", confidence="likely",
        subject=f"CUDA_DEVICE_ORDER={order or ''}",
    )  # fmt: skip


def _ignored(case: Case, text: str | None) -> Iterator[Finding]:
    """The deepspeed launcher sets the variable itself, and ignores it beside its own options (launcher/runner.py)."""
    used = [name for name in ("include", "exclude", "num_gpus", "num_nodes") if name in case.launch.options]
    if case.launch.launcher != "deepspeed" or text in (None, "") or not used:
        return
    yield Finding(
        CODE, f"the deepspeed launcher ignores {_NAME} beside --{used[0]}", None,
        ("It says so in its first lines, and starts on the GPUs that its own options name.",),
        f"deepspeed --include localhost:{text}", severity="warning", confidence="certain", subject=f"{_NAME}={text}",
        others=(f"leave --{used[0]} out",),
    )  # fmt: skip
