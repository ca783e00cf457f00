"""DV402: a torch that cannot be used."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.packages import together

CODE = own_code(__name__)

_SHADOWS = ("torch", "transformers", "accelerate", "deepspeed", "lightning", "peft", "datasets")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields a torch that is missing, broken, or hidden by a file of the program."""
    torch = case.facts.torch
    if torch.state == "broken":
        reinstall = _reinstall(torch.version)
        yield finding(
            CODE, message("import torch fails"), None,
            (torch.sentence or message("It prints nothing."), *_why(case, torch.sentence)), reinstall, severity="error",
            confidence="certain", subject=f"torch {torch.version}".strip(), others=_others(case, torch.sentence),
        )  # fmt: skip
    elif torch.state == "hanging":
        yield finding(
            CODE, message("import torch does not finish"), None,
            (torch.sentence,
             message("It waits for a file system or for the driver: nvidia-smi and `python -X importtime` show "
                     "which.")),
            message("run `python -X faulthandler -c 'import torch'` and see where it waits"), severity="error",
            confidence="likely", subject=f"torch {torch.version}".strip(),
        )  # fmt: skip
    elif torch.state == "absent" and _needs_torch(case):
        yield finding(
            CODE, message("torch is not installed"), None,
            (message("The doctor runs in {python}, which has no torch.", python=case.facts.system.executable),),
            message("run devsan doctor with the Python that runs the job"), severity="error", confidence="likely",
            subject="torch",
        )  # fmt: skip
    yield from _shadows(case)


def _needs_torch(case: Case) -> bool:
    return bool(case.launch.launcher or case.documents or case.scripts)


def _why(case: Case, sentence: str) -> tuple[Message, ...]:
    several = [name for name in case.facts.packages if name.startswith("nvidia-nccl-")]
    if "undefined symbol: nccl" in sentence and len(several) > 1:
        return (message("{packages} are both installed; the one found first is not torch's.",
                        packages=together(several)),)  # fmt: skip
    if "undefined symbol: nccl" in sentence or "libcudnn" in sentence or "libcublas" in sentence:
        return (message("A library from another CUDA version is found before torch's own."),)
    return ()


def _others(case: Case, sentence: str) -> tuple[Message, ...]:
    if (
        "undefined symbol" in sentence or "cannot open shared object" in sentence
    ) and "LD_LIBRARY_PATH" in case.facts.variables:
        return (message("unset LD_LIBRARY_PATH for the job: torch wheels include their libraries"),)
    return ()


def _reinstall(version: str) -> Message:
    if not version:
        return message("install torch")
    return message("reinstall it: pip install --force-reinstall torch=={version}", version=version.partition("+")[0])


def _shadows(case: Case) -> Iterator[Diagnostic]:
    """A file called torch.py beside the script is imported instead of torch."""
    for folder in dict.fromkeys(os.path.dirname(script.file) or "." for script in case.scripts):
        for name in _SHADOWS:
            file = os.path.join(folder, f"{name}.py")
            if os.path.isfile(file):
                yield finding(
                    CODE, message("{module}.py next to the script is imported instead of {module}", module=name),
                    Place(file),
                    (message("Python looks in the script's folder first."),), message("rename the file"),
                    severity="error", confidence="certain",
                )  # fmt: skip
